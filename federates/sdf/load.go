package sdf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"metasim/internal/problem"
)

// Load reads a file and what it includes. Directories are searched for models that are named as model://NAME; the directory of the
// file that includes is searched last. What is included from outside of these directories is read if may returns nil for its path; may may be nil. All errors are
// returned at once, as a *[problem.Invalid].
func Load(file string, directories []string, may func(path string) error) (*Document, []problem.Problem, error) {
	l := loader{directories: directories, may: may, files: map[string]*node{}, models: map[string]string{}, missing: map[string]bool{}}
	root, err := l.read(Place{File: file}, file)
	var c complaint
	switch {
	case errors.As(err, &c):
		l.errors = append(l.errors, c.problem())
	case err != nil:
		return nil, nil, err
	}
	if root == nil {
		return nil, problem.Sorted(l.warnings), &problem.Invalid{Problems: problem.Sorted(l.errors)}
	}
	d := l.document(l.expand(root, 0))
	warnings := problem.Sorted(l.warnings)
	if len(l.errors) > 0 {
		return nil, warnings, &problem.Invalid{Problems: problem.Sorted(l.errors)}
	}
	return d, warnings, nil
}

// A loader reads one document.
type loader struct {
	problems
	directories []string
	may         func(path string) error
	models      map[string]string // what modelIn has found
	files       map[string]*node  // the sdf element of each file, so that a model that is included a hundred times is read once
	elements    int
	missing     map[string]bool // what is included and not found was told once
}

// read returns the sdf element of a file. At is what asked for it.
func (l *loader) read(at Place, file string) (*node, error) {
	file = filepath.Clean(file)
	if n := l.files[file]; n != nil {
		return n, nil
	}
	text, err := readFile(file)
	if err != nil {
		return nil, complaint{at, err.Error()}
	}
	top, err := parseXML(file, text, &l.elements)
	if err != nil {
		return nil, err
	}
	var root *node
	for _, n := range top {
		switch {
		case root != nil:
			l.warn(n.Place, "<%s> stands behind the end of <sdf>, so it is ignored; remove it", n.Name)
		case n.Name == "sdf":
			root = n
		default:
			l.warn(n.Place, "<%s> stands before <sdf>, so it is ignored; remove it", n.Name)
		}
	}
	if root == nil {
		return nil, complaint{Place{file, 1, 1}, "this is no SDF: there is no <sdf version=\"1.9\"> in it; name a file of a world"}
	}
	l.version(root)
	l.conform(root, rules()["root"])
	l.files[file] = root
	return root, nil
}

func readFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, cause(err)
	case info.IsDir():
		return nil, errors.New("this is a directory; name the file in it")
	case !info.Mode().IsRegular():
		return nil, errors.New("this is no ordinary file, and might never end; name a file on a disk")
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("has %d bytes, and %d are the limit; split it, and include the parts", info.Size(), maxBytes)
	}
	text, err := os.ReadFile(file)
	return text, cause(err)
}

// cause returns an error of a file without the file's name, which stands before it already.
func cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return fmt.Errorf("cannot be read: %w", e.Err)
	}
	return err
}

// version notes a version that is not read, and what the version changes in how the rest is read.
func (l *loader) version(root *node) {
	l.colons = false
	text, there := root.Attribute("version")
	major, minor, _ := strings.Cut(text, ".")
	a, err1 := strconv.Atoi(strings.TrimSpace(major))
	b, err2 := strconv.Atoi(strings.TrimSpace(minor))
	switch {
	case !there, strings.TrimSpace(text) == "": // conform says so
	case err1 != nil || err2 != nil && minor != "":
		l.wrong(root.Place, "the version of <sdf> is %q; write version=\"1.9\"", text)
	case a < 1 || a == 1 && b < 6:
		l.wrong(root.Place, "SDF %s is older than 1.6, and is not read; have Gazebo write it anew: gz sdf -p FILE", text)
	case a == 1 && b < 7:
		root.renameFrames()
	case a > 1 || b > 11:
		l.warn(root.Place, "SDF %s is newer than 1.11, and is read as 1.11", text)
	}
	l.colons = a == 1 && b < 8
}

// renameFrames renames the attribute of poses that is relative_to since SDF 1.7.
func (n *node) renameFrames() {
	if _, both := n.Attribute("relative_to"); n.Name == "pose" && !both {
		for i := range n.Attributes {
			if n.Attributes[i].Name == "frame" {
				n.Attributes[i].Name = "relative_to"
			}
		}
	}
	for _, c := range n.children {
		c.renameFrames()
	}
}

// maxIncludes is how many files may include one another.
const maxIncludes = 20

// expand returns an element with every include replaced by the model that it names.
func (l *loader) expand(n *node, depth int) *node {
	if n.Name == "plugin" {
		return n
	}
	out := *n
	out.children = make([]*node, 0, len(n.children))
	for _, c := range n.children {
		if c.Name == "include" && (n.Name == "world" || n.Name == "model") {
			if c = l.include(c, depth); c == nil {
				continue
			}
		} else {
			c = l.expand(c, depth)
		}
		out.children = append(out.children, c)
	}
	return &out
}

// include returns the model that an include names, with what the include says of its name and place; nil if there is none.
func (l *loader) include(n *node, depth int) *node {
	uri := n.child("uri")
	switch {
	case uri == nil:
		l.wrong(n.Place, "<include> has no <uri>; add one, as in <uri>model://NAME</uri>")
		return nil
	case depth == maxIncludes:
		l.wrong(n.Place, "more than %d files include one another; does one include itself? remove that include", maxIncludes)
		return nil
	}
	if l.elements > maxElements {
		return nil // this was told
	}
	file, err := l.find(n.Place.File, uri.Text)
	if err != nil {
		if why := err.Error(); !l.missing[why] { // a world may include a ball a hundred times
			l.missing[why] = true
			l.wrong(uri.Place, "%s", why)
		}
		return nil
	}
	root, err := l.read(uri.Place, file)
	var c complaint
	if errors.As(err, &c) {
		l.errors = append(l.errors, c.problem())
		return nil
	}
	for _, kind := range []string{"model", "light", "actor"} {
		if m := root.child(kind); m != nil {
			if l.elements += m.size(); l.elements > maxElements {
				l.wrong(n.Place, "a world has at most %d elements with all that it includes; include less", maxElements)
				return nil
			}
			return l.expand(placed(m, n), depth+1)
		}
	}
	l.wrong(uri.Place, "%s has no model, light or actor to include; name another file", file)
	return nil
}

// size counts an element and all within it.
func (n *node) size() int {
	total := 1
	for _, c := range n.children {
		total += c.size()
	}
	return total
}

// placed returns a model with what an include says of it.
func placed(model, include *node) *node {
	out := *model
	out.Attributes = append([]Attribute{}, model.Attributes...)
	set := func(name, value string) {
		for i := range out.Attributes {
			if out.Attributes[i].Name == name {
				out.Attributes[i].Value = value
				return
			}
		}
		out.Attributes = append(out.Attributes, Attribute{name, value})
	}
	if name := include.text("name", ""); name != "" {
		set("name", name)
	}
	if frame := include.text("placement_frame", ""); frame != "" {
		set("placement_frame", frame)
	}
	out.children = append([]*node{}, model.children...)
	for _, name := range []string{"pose", "static"} {
		if c := include.child(name); c != nil {
			out.children = append([]*node{c}, out.children...)
		}
	}
	include.each("plugin", func(c *node) { out.children = append(out.children, c) })
	out.Place = include.Place
	return &out
}

// find returns the file that a URI means, seen from the file that includes it.
func (l *loader) find(from, uri string) (string, error) {
	name, isModel := strings.CutPrefix(uri, "model://")
	path, isFile := strings.CutPrefix(uri, "file://")
	here := filepath.Dir(from)
	switch {
	case uri == "":
		return "", errors.New("<uri> is empty; write model://NAME")
	case isModel:
		name = filepath.FromSlash(strings.Trim(name, "/"))
		if !filepath.IsLocal(name) {
			return "", fmt.Errorf("model://%s leaves the directories of models; leave the .. out", name)
		}
		for _, dir := range append(append([]string{}, l.directories...), here) {
			if file, err := l.modelIn(filepath.Join(dir, name)); err != nil || file != "" {
				return file, err
			}
		}
		beside := filepath.Join(here, name+"_model.sdf")
		if regular(beside) {
			return beside, l.open(beside)
		}
		return "", fmt.Errorf("there is no model %q; put its directory beside this file, or name the directory that has it in SDF_PATH", name)
	case !isFile && strings.Contains(uri, "://"):
		return "", fmt.Errorf("%s is on the network, from which nothing is fetched; download it, and write model://NAME", uri)
	case !isFile:
		path = uri
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(here, filepath.FromSlash(path))
	}
	if file, err := l.modelIn(path); err != nil || file != "" {
		return file, err
	}
	return "", fmt.Errorf("there is no file %s; correct the <uri>", path)
}

// open says why a file may not be read.
func (l *loader) open(path string) error {
	inside := func(dir string) bool {
		rest, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rest)
	}
	if l.may == nil || slices.ContainsFunc(l.directories, inside) {
		return nil
	}
	return l.may(path)
}

// modelIn returns the SDF file that a path means: itself, or the file that the model.config in that directory names; empty if there is none.
func (l *loader) modelIn(path string) (string, error) {
	if file, known := l.models[path]; known {
		return file, nil
	}
	file := path
	if !regular(path) {
		var err error
		if file, err = l.configured(path); err != nil {
			return "", err
		}
	}
	if file != "" {
		if err := l.open(file); err != nil {
			return "", err
		}
	}
	l.models[path] = file
	return file, nil
}

// configured returns the file that the model.config in a directory names; empty if there is none.
func (l *loader) configured(dir string) (string, error) {
	config := filepath.Join(dir, "model.config")
	if !regular(config) {
		return "", nil
	}
	if err := l.open(config); err != nil {
		return "", err
	}
	text, err := readFile(config)
	if err != nil {
		return "", nil // then there is no model here
	}
	var elements int
	top, err := parseXML(config, text, &elements)
	if err != nil || len(top) == 0 {
		return "", nil // likewise
	}
	file := ""
	for _, c := range top[0].children { // the last is that of the newest version, by convention
		if c.Name == "sdf" {
			file = filepath.Join(dir, filepath.FromSlash(c.Text))
		}
	}
	if !regular(file) {
		return "", nil
	}
	return file, nil
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
