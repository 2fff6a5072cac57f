package scenarios

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"metasim/federates/catalog"
	"metasim/internal/scope"
	"metasim/metasim"
)

// check finds what is wrong with single values and rules; flow looks at how they fit together. An error means a mistake in
// metasim, not in the scenario.
func (c *checker) check() error {
	found, err := validate(c.root)
	if err != nil {
		return err
	}
	for _, p := range found {
		c.problems = append(c.problems, p.Problem)
		c.mark(p.path)
	}
	c.duration(path{"until"})
	c.duration(path{"start_timeout"})
	c.duration(path{"checkpoint"})
	c.outputLimit()
	if c.word(path{"peer_timeout"}) != peerTimeoutOff {
		c.duration(path{"peer_timeout"})
	}
	c.publicLCM()
	c.nested()
	c.clients()
	c.placement()
	c.links()
	return nil
}

// outputLimit checks the one size of a scenario.
func (c *checker) outputLimit() {
	p := path{"output_limit"}
	text, ok := c.sound(p).text()
	if !ok {
		return
	}
	var limit size
	if err := limit.UnmarshalText([]byte(text)); err != nil || limit < minOutputLimit {
		c.fail(p, "is %s; write 64KiB or more: the beginning and the end of the output are kept", text)
	}
}

// clients checks the entries one by one, and that each name is unique.
func (c *checker) clients() {
	total := 0
	for i := range c.root.child("clients").items() {
		p := path{"clients"}.in(i)
		count := int(c.number(p.to("count"), 1)) // 1 also where it is wrong
		if total += count; total > maxCount {
			c.fail(p, "brings the scenario to more than %d clients; make do with fewer", maxCount)
			return
		}
		c.components(p.to("name"))
		c.unique(p, i, count)
		c.model(p, count)
		c.channels(p)
		c.restart(p)
		c.duration(p.to("checkpoint"))
		c.duration(p.to("hang_timeout"))
		if c.sound(p.to("hang_timeout")) != nil && c.sound(p.to("external")) != nil {
			c.fail(p.to("hang_timeout"), "is for a client that metasim starts, and can end; leave it out, or give the command of the client with run")
		}
		if !c.restored {
			c.command(p)
		}
	}
}

// channels checks the lists of the channels that a client may use.
func (c *checker) channels(p path) {
	for _, key := range []string{"publish", "subscribe"} {
		list := c.sound(p.to(key))
		if list != nil && c.sound(p.to("model")) != nil {
			c.fail(p.to(key), "is for commands and external clients; leave it out: the parameters of a model name its channels")
			continue
		}
		for i, item := range list.items() {
			c.pattern(p.to(key).in(i), item.word())
		}
	}
}

// nested reads the scenarios inside.
func (c *checker) nested() {
	c.scopes, c.dirs = scope.Set{}, map[string]string{}
	for i, n := range c.sound(path{"nested"}).items() {
		expose, _ := n.child("expose").plain().(object) // the schema lets nothing else pass
		inside := scope.Nested{Name: n.child("name").word(), File: n.child("file").word(), Expose: textsOf(expose)}
		p := path{"nested"}.in(i)
		c.components(p.to("name"))
		if err := c.scopes.Add(&inside); err != nil && !c.bad[p.String()] {
			c.fail(p, "%v", err)
		}
		c.dirs[inside.Name] = filepath.Dir(within(c.dir.path, inside.File))
	}
}

// components refuses a name that, as the path of a file, would lead elsewhere.
func (c *checker) components(p path) {
	for part := range strings.SplitSeq(c.word(p), "/") {
		if part == "." || part == ".." {
			c.fail(p, "has %q as a part; write a name", part)
			return
		}
	}
}

// unique records the names of an entry's clients, and fails on the first name that another client has.
func (c *checker) unique(p path, entry, count int) {
	base, ok := c.sound(p.to("name")).text()
	if !ok {
		return
	}
	counted := c.root.child("clients").items()[entry].child("count") != nil
	for i := range count {
		name := clientName(base, i, counted)
		if other, taken := c.names[name]; taken {
			_, at := c.root.find(path{"clients", strconv.Itoa(other), "name"}, false)
			c.fail(p.to("name"), "a client is called %q already%s; a name is unique, choose another", name, inLine(at))
			return
		}
		c.names[name] = entry
	}
}

// model checks the parameters of a built-in model beyond the schema: bounds of durations, patterns, files, and whether they fit
// together.
func (c *checker) model(p path, count int) {
	model, ok := c.sound(p.to("model")).text()
	if !ok || c.bad[p.to("with").String()] {
		return
	}
	spec, err := catalog.Lookup(model)
	if err != nil {
		c.fail(p.to("model"), "%s", err)
		return
	}
	if rate := (path{"rate"}); spec.RealTime && !c.bad[rate.String()] && c.number(rate, 0) == 0 {
		c.fail(p.to("model"), "a %s takes part in real time, and this run goes as fast as it can; "+
			"add rate: 1 to the scenario, or another speed", spec.Name)
	}
	with, _ := c.sound(p.to("with")).plain().(map[string]any) // none is no parameter
	if !c.parameters(p.to("with"), spec.Check(with)) {
		return
	}
	if c.restored {
		return
	}
	for _, param := range spec.Params {
		c.parameter(p.to("with", param.Name), c.dirOf(c.word(p.to("name"))), param)
	}
	if c.bad[p.to("with").String()] {
		return
	}
	name := c.word(p.to("name")) // a wrong name is a problem already
	own := c.scopes.Of(name).Calls
	in, err := catalog.Make(model, with, catalog.Env{
		Name: own(clientName(name, 0, count > 1)), Entry: own(name), Count: count, Open: c.dirOf(name).open,
	})
	if c.parameters(p.to("with"), err) {
		for _, e := range in.Doubts {
			c.warn(p.to("with", e.Param), "%s; %s", e.Wrong, e.Remedy)
		}
	}
}

// restart checks that a client which is to be started again can be, and what says how often.
func (c *checker) restart(p path) {
	if c.word(p.to("on_exit")) != "restart" {
		if c.sound(p.to("restarts")) != nil {
			c.fail(p.to("restarts"), "counts for nothing without on_exit: restart; add that, or leave restarts out")
		}
		return
	}
	if c.sound(p.to("external")) != nil {
		c.fail(p.to("on_exit"), "is restart, but metasim did not start this client and cannot start it again; give its command with run, or use fail")
	}
	if spec, err := catalog.Lookup(c.word(p.to("model"))); err == nil && (spec.RealTime || spec.Measures) { // a command has the model ""
		c.fail(p.to("on_exit"), "is restart, but a %s takes part in real time and cannot do the same again; use fail or detach", spec.Name)
	}
}

// parameters turns the errors of the catalog into problems. It reports whether there were none.
func (c *checker) parameters(p path, err error) bool {
	var params catalog.ParamErrors
	switch {
	case err == nil:
		return true
	case errors.As(err, &params):
		for _, e := range params {
			c.fail(p.to(e.Param), "%s; %s", e.Wrong, e.Remedy)
		}
	default:
		c.fail(p, "%s", err)
	}
	return false
}

// parameter checks files and patterns, whose type is right by now.
func (c *checker) parameter(p path, in directory, param catalog.Param) {
	n := c.sound(p)
	if n == nil {
		return
	}
	switch param.Type {
	case catalog.File:
		c.file(p, in, n.word())
	case catalog.Pattern:
		c.pattern(p, n.word())
	case catalog.Patterns:
		for i, item := range n.items() {
			c.pattern(p.in(i), item.word())
		}
	}
}

func (c *checker) pattern(p path, text string) {
	if err := metasim.CheckSubscription(text); err != nil {
		c.fail(p, "%s is neither a channel nor a regular expression (%v); mend it, or put \\ before what is meant literally",
			quote(text), err)
	}
}

// file checks that a file is there and may be read.
func (c *checker) file(p path, in directory, name string) {
	f, err := in.open(name)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		c.fail(p, "%v", err)
	}
}

// command checks that a program can be found, and where it is to run.
func (c *checker) command(p path) {
	in := c.dirOf(c.word(p.to("name"))).path
	if argv := c.sound(p.to("run")).items(); len(argv) > 0 {
		if _, err := findCommand(in, argv[0].word()); err != nil {
			c.fail(p.to("run", "0"), "%v", err)
		}
	}
	for i, item := range c.sound(p.to("env")).items() {
		if name, _, _ := strings.Cut(item.word(), "="); strings.HasPrefix(name, "METASIM_") {
			c.fail(p.to("env").in(i), "%s is set by metasim itself; remove it", name)
		}
	}
	if name, ok := c.sound(p.to("dir")).text(); ok {
		if info, err := os.Stat(within(in, name)); err != nil || !info.IsDir() {
			c.fail(p.to("dir"), "there is no directory %q; make it, or mend the path, which is relative to the scenario", name)
		}
	}
}
