package scenarios

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"metasim/delay"
	"metasim/internal/scope"
)

// A scenario may have other scenarios inside: entries of clients with model: scenario. Before anything else is checked, the tree of a
// composed scenario becomes that of a plain one, with full names: see package scope. So all the rest, from the checks to the digest of a
// run, knows plain scenarios alone.

// newComposer returns a composer for the scenario of a file, whose directory is given as an absolute path.
func newComposer(file, dir string, outside bool) *composer {
	real := realPath(filepath.Join(dir, filepath.Base(file)))
	return &composer{level: level{file: file, dir: dir, chain: []string{file}, real: []string{real}}, outside: outside,
		loaded: map[*mapping]*inner{}, scopes: scope.Set{}, origins: origins{}}
}

// realPath is a path by which a file is known again.
func realPath(file string) string {
	if known, err := filepath.EvalSymlinks(file); err == nil {
		return known
	}
	return file
}

// isComposite reports whether an entry under clients is a whole scenario (model: scenario), and no single client.
func isComposite(entry *node) bool { return entry.child("model").word() == compositeModel }

// flatten returns the plain scenario that a composed one means; the tree itself if there is none inside, or if something is wrong: then the
// composer has problems.
func (c *composer) flatten(root *node) (*node, error) {
	c.root = root
	if !slices.ContainsFunc(root.child("clients").items(), isComposite) {
		return root, nil
	}
	found, err := validate(root)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		c.problems = append(c.problems, f.Problem)
	}
	if len(found) > 0 {
		return root, nil
	}
	m := root.value.(*mapping) // it has clients
	if err := c.take(root, &c.level); err != nil || len(c.problems) > 0 {
		return root, err
	}
	at := m.entry("clients").at
	plain := &mapping{entries: slices.Clone(m.entries)}
	plain.set("clients", at, &node{at, c.clients})
	plain.set("links", at, &node{at, c.links})
	plain.set("nested", at, &node{at, c.nested})
	return &node{root.at, plain}, nil
}

// take takes the clients and the rules of a level, and of those inside it. Rules of the outer ones come first, as the last one that
// matches decides.
func (c *composer) take(root *node, at *level) error {
	for _, n := range root.child("nested").items() { // it is written as one, and has had others inside
		expose, _ := n.child("expose").plain().(object) // the schema lets nothing else pass
		c.open(&scope.Nested{Name: at.scope.Client(n.child("name").word()), File: c.relative(within(at.dir, n.child("file").word())), Expose: textsOf(expose)}, n, path{"nested"})
	}
	c.rules(root, at)
	taken := map[string]place{}
	for i, entry := range root.child("clients").items() {
		p := path{"clients"}.in(i)
		if !isComposite(entry) {
			c.clients = append(c.clients, renamed(entry, at.scope.Client(entry.child("name").word())))
			c.origins["clients"] = append(c.origins["clients"], origin{path: p, dir: at.dir})
			continue
		}
		if err := c.inside(entry, p, at, taken); err != nil {
			return err
		}
	}
	for i, entry := range root.child("clients").items() {
		name := entry.child("name").word()
		first, _, _ := strings.Cut(name, "/")
		if where, is := taken[first]; is && !isComposite(entry) {
			c.fail(path{"clients"}.in(i).to("name"), entry.child("name").at, "is %q, and a scenario inside is called %q%s; choose another name", name, first, inLine(where))
		}
	}
	return nil
}

// inside takes the scenarios that an entry stands for: one, or count of them.
func (c *composer) inside(entry *node, p path, at *level, taken map[string]place) error {
	in := c.load(entry, p, at)
	if !c.checkEntry(entry, p, in) || in.root == nil {
		return nil
	}
	if !in.valid {
		found, err := validate(in.root)
		if err != nil {
			return err
		}
		if in.valid = len(found) == 0; !in.valid {
			for _, f := range found {
				c.problems = append(c.problems, f.Problem)
			}
			in.root = nil
			return nil
		}
		c.ignored(in)
	}
	name, count := entry.child("name").word(), entry.child("count")
	expose := c.exposed(entry, p)
	for k := range int(count.number(1)) {
		if len(c.clients) > maxCount || len(c.scopes) > maxCount {
			c.fail(p, entry.at, "brings the scenario to more than %d clients; make do with fewer", maxCount)
			return nil
		}
		own := clientName(name, k, count != nil)
		if first, twice := taken[own]; twice {
			c.fail(p.to("name"), entry.at, "a scenario is called %q already%s; a name is unique, choose another", own, inLine(first))
			return nil
		}
		taken[own] = entry.at
		next := in.level
		n := &scope.Nested{Name: at.scope.Client(own), File: c.relative(in.real[len(in.real)-1]), Expose: expose}
		if next.scope = c.open(n, entry, p.to("with", "expose")); next.scope == nil {
			return nil
		}
		if err := c.take(in.root, &next); err != nil || len(c.problems) > 0 {
			return err
		}
	}
	return nil
}

// open adds a scenario inside. It returns nil if that cannot be.
func (c *composer) open(n *scope.Nested, at *node, p path) *scope.Scope {
	if err := c.scopes.Add(n); err != nil {
		_, where := at.find(path{"with", "expose"}, false)
		c.fail(p, where, "%v", err)
		return nil
	}
	expose := make(object, len(n.Expose))
	for own, outer := range n.Expose {
		expose[own] = outer
	}
	list := treeOf(object{"name": n.Name, "file": n.File, "expose": expose})
	_, where := at.find(path{"with", "expose"}, false)
	unplace(list, where)
	c.nested, c.origins["nested"] = append(c.nested, list), append(c.origins["nested"], origin{path: p})
	return c.scopes[n.Name]
}

// relative returns the path of a file from the directory of the outermost scenario, with slashes.
func (c *composer) relative(file string) string {
	if relative, err := filepath.Rel(realPath(c.dir), realPath(file)); err == nil {
		file = relative
	}
	return filepath.ToSlash(file)
}

// load reads the file of an entry, once.
func (c *composer) load(entry *node, p path, at *level) *inner {
	m := entry.value.(*mapping) // it has a model
	name, named := entry.child("with").child("file").text()
	if in := c.loaded[m]; in != nil && in.named == name {
		return in
	}
	in := &inner{named: name}
	c.loaded[m] = in
	if !named {
		return in // the schema says it
	}
	file := within(at.dir, name)
	in.level = level{file: filepath.Join(filepath.Dir(at.file), filepath.FromSlash(name)), dir: filepath.Dir(file)}
	if filepath.IsAbs(filepath.FromSlash(name)) {
		in.file = file
	}
	in.chain, in.real = append(slices.Clip(at.chain), in.file), append(slices.Clip(at.real), realPath(file))
	text, err := c.read(in, at)
	if err != nil {
		c.fail(p.to("with", "file"), entry.child("with").child("file").at, "%v", err)
		return in
	}
	root, problems := parse(in.file, text)
	if c.problems = append(c.problems, problems...); len(problems) == 0 {
		in.root = root
	}
	return in
}

// read returns the text of a scenario inside.
func (c *composer) read(in *inner, at *level) ([]byte, error) {
	switch last := in.real[len(in.real)-1]; {
	case slices.Contains(at.real, last):
		return nil, fmt.Errorf("a scenario cannot be inside of itself: %s; take one of these entries out", strings.Join(in.chain, " -> "))
	case len(in.chain) > maxDepth:
		return nil, fmt.Errorf("is the scenario number %d of a chain of scenarios in one another; %d is the limit", len(in.chain), maxDepth)
	}
	f, err := directory{path: at.dir, outside: c.outside}.open(in.named)
	if err != nil {
		return nil, err
	}
	text, err := readUpTo(f, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("cannot be read (%w); try again", err)
	}
	return text, nil
}

// checkEntry reports whether an entry says nothing that a scenario inside cannot have.
func (c *composer) checkEntry(entry *node, p path, in *inner) bool {
	good := true
	for _, e := range entry.value.(*mapping).entries { // it has a model
		if !slices.Contains([]string{"name", "count", "model", "with"}, e.key) {
			c.fail(p.to(e.key), e.at, "is for a single client; say it of the clients in %s", in.named)
			good = false
		}
	}
	if name := entry.child("name"); strings.Contains(name.word(), "/") {
		c.fail(p.to("name"), name.at, "%q has a / in it; a scenario inside has a name without one", name.word())
		good = false
	}
	return good
}

// ofRun are the keys of a scenario that say something about a run as a whole.
var ofRun = []string{"until", "rate", "max_steps", "memory", "cascade", "start_timeout", "checkpoint", "output_limit", "peer_timeout", "public_lcm",
	"lcm_suffix", "lcm_names", "lcm_subscribers", "hosts", "placement"}

// ignored warns of what a scenario inside says about the run, where the outermost one does not say the same.
func (c *composer) ignored(in *inner) {
	for _, e := range in.root.value.(*mapping).entries { // the schema lets nothing else pass
		if ours := c.root.child(e.key); slices.Contains(ofRun, e.key) && (ours == nil || fmt.Sprint(ours.plain()) != fmt.Sprint(e.value.plain())) {
			c.warnings = append(c.warnings, e.at.problem(path{e.key}, fmt.Sprintf("counts for nothing in a scenario that is inside of another one; %s decides", c.file)))
		}
	}
}

// exposed reads the channels that an entry exposes: the names outside by the names inside.
func (c *composer) exposed(entry *node, p path) map[string]string {
	all := map[string]string{}
	add := func(own, outer string, p path, at place) {
		if _, twice := all[own]; twice {
			c.fail(p, at, "exposes channel %q twice; keep one", own)
		}
		all[own] = outer
	}
	for i, item := range entry.child("with").child("expose").items() {
		p := p.to("with", "expose").in(i)
		if name, ok := item.text(); ok {
			add(name, name, p, item.at)
		} else if m, ok := item.value.(*mapping); ok {
			for _, e := range m.entries {
				add(e.key, e.value.word(), p.to(e.key), e.at)
			}
		}
	}
	return all
}

// rules takes the rules of a level. Those of a scenario inside hold between its clients, and no others do: a link without any has one step.
func (c *composer) rules(root *node, at *level) {
	add := func(n *node, p path) {
		c.links = append(c.links, n)
		c.origins["links"] = append(c.origins["links"], origin{path: p, dir: at.dir, scope: at.scope})
	}
	all := at.scope.Client("*")
	if at.scope != nil {
		oneStep := &mapping{[]entry{{"delay", root.at, &node{root.at, "0s"}}}}
		add(c.rule(oneStep, root.at, all, all, ""), nil)
	}
	for i, n := range root.child("links").items() {
		p := path{"links"}.in(i)
		if at.scope == nil {
			add(n, p)
			continue
		}
		from, to := all, all
		if word := n.child("from").word(); word != "" {
			from = at.scope.Client(word)
		}
		if word := n.child("to").word(); word != "" {
			to = at.scope.Client(word)
		}
		for _, channel := range at.scope.Glob(n.child("channel").word(), delay.Match) {
			add(c.rule(n.value.(*mapping), n.at, from, to, channel), p)
		}
	}
}

// rule returns a rule with full names.
func (c *composer) rule(m *mapping, at place, from, to, channel string) *node {
	full := &mapping{entries: slices.Clone(m.entries)}
	full.set("from", at, &node{at, from})
	full.set("to", at, &node{at, to})
	if channel != "" {
		full.set("channel", at, &node{at, channel})
	}
	return &node{at, full}
}

// renamed returns an entry with another name.
func renamed(entry *node, name string) *node {
	m, ok := entry.value.(*mapping)
	if old := entry.child("name"); ok && old.word() != name {
		named := &mapping{entries: slices.Clone(m.entries)}
		named.set("name", m.entry("name").at, &node{old.at, name})
		return &node{entry.at, named}
	}
	return entry
}

func (c *composer) fail(p path, at place, format string, args ...any) {
	c.problems = append(c.problems, at.problem(p, fmt.Sprintf(format, args...)))
}
