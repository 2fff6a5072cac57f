package scenarios

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"metasim/federates/catalog"
	"metasim/internal/problem"
)

// Load reads a scenario file, applies the overrides and checks the result. Warnings come with a Scenario as well as
// with an error. The error is an *problem.Invalid wherever the scenario, not this program, is at fault.
func Load(file string, o Overrides) (*Scenario, []problem.Problem, error) {
	text, err := ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	return Parse(file, text, o)
}

// Parse is Load for a text that was read already. File names it in problems, and its directory is where the paths in
// it begin.
func Parse(file string, text []byte, o Overrides) (*Scenario, []problem.Problem, error) {
	root, problems := parse(file, text)
	if root == nil {
		return nil, nil, &problem.Invalid{Problems: problem.Sorted(problems)}
	}
	return build(root, problems, file, o, false)
}

// Restore makes a Scenario of what Resolved returned. Dir is where its paths begin; neither its files nor its commands need to
// exist any more.
func Restore(resolved []byte, dir string) (*Scenario, error) {
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(resolved))
	if err != nil {
		return nil, fmt.Errorf("the resolved scenario is no JSON (%w); use the manifest as it was written", err)
	}
	s, _, err := build(treeOf(plain), nil, filepath.Join(dir, "resolved"), Overrides{}, true) // its warnings were reported when it ran
	return s, err
}

// build makes a Scenario of a tree, in which some problems were found already. For a restored one it checks no file, no command and not how the clients fit together.
func build(root *node, problems []problem.Problem, file string, o Overrides, restored bool) (*Scenario, []problem.Problem, error) {
	absolute, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, nil, fmt.Errorf("%s has no absolute path (%w); change into a directory that exists", filepath.Dir(file), err)
	}
	composer := newComposer(file, absolute, o.AllowOutside)
	problems = append(problems, o.apply(root, composer)...)
	if root, err = composer.flatten(root); err != nil {
		return nil, nil, err
	}
	if composer.problems != nil {
		return nil, problem.Sorted(composer.warnings), &problem.Invalid{Problems: problem.Sorted(append(problems, composer.problems...))}
	}
	c := &checker{root: root, dir: directory{path: absolute, outside: o.AllowOutside}, restored: restored,
		bad: map[string]bool{}, names: map[string]int{}, origins: composer.origins, warnings: composer.warnings}
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	axes := c.sweep()
	if problems = append(problems, c.problems...); problems != nil {
		return nil, problem.Sorted(c.warnings), &problem.Invalid{Problems: problem.Sorted(problems)}
	}
	doc, err := documentOf(root)
	if err != nil {
		return nil, nil, err
	}
	s := &Scenario{Dir: absolute, Rules: c.rules, Sweep: axes, allowOutside: o.AllowOutside, root: root, doc: doc, origins: c.origins,
		Nested: doc.Nested, Scopes: c.scopes, dirs: c.dirs}
	if err := s.expand(); err != nil {
		return nil, nil, err
	}
	s.place()
	if !restored {
		c.flow(s)
	}
	if c.problems != nil {
		return nil, problem.Sorted(c.warnings), &problem.Invalid{Problems: problem.Sorted(c.problems)}
	}
	return s, problem.Sorted(c.warnings), nil
}

// RealTime returns the names of the clients that take part in real time, or tell what is measured. A run with such a client is not deterministic.
func (s *Scenario) RealTime() []string {
	var names []string
	for i := range s.Clients {
		if spec, err := catalog.Lookup(s.Clients[i].Model); err == nil && (spec.RealTime || spec.Measures) { // a client without a model has the name ""
			names = append(names, s.Clients[i].Name)
		}
	}
	return names
}

// Problem makes a problem, warning or piece of advice at a path such as {"links", "0", "delay"}. It points at the deepest
// value on the path that the file has.
func (s *Scenario) Problem(kind string, path []string, message string) problem.Problem {
	_, at := s.root.find(path, false)
	p := at.problem(s.origins.in(path), message)
	p.Kind = kind
	return p
}

// OpenFile opens a file that a model's parameter names, for a model that lives in another process than the scenario. The path
// is relative to dir, and the file lies below it, unless outside is set. Its error is one sentence that says what to write
// instead. There, dir is "the scenario's directory", or that of another thing, which of names; empty counts as "scenario".
func OpenFile(dir, name string, outside bool, of string) (io.ReadCloser, error) {
	return directory{dir, outside, of}.open(name)
}

// Command returns the program to start for a client with a Run, as a path: a bare word is looked up in PATH.
func (s *Scenario) Command(c *Client) (string, error) { return findCommand(c.Dir, c.Run[0]) }
