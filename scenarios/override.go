package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"metasim/internal/problem"
	"metasim/internal/suggest"
)

// apply changes the tree as the overrides say. An assignment that fails does not keep the others from being applied.
func (o *Overrides) apply(root *node, c *composer) []problem.Problem {
	var problems []problem.Problem
	override := func(root *node, flag, target, text string) []problem.Problem {
		return c.override(root, flag, target, text)
	}
	for _, assignment := range o.Set {
		target, value, ok := strings.Cut(assignment, "=")
		if !ok {
			problems = append(problems, problem.Problem{File: "--set", Path: assignment,
				Message: "assigns nothing; write path=value, such as until=3s"})
			continue
		}
		problems = append(problems, override(root, "--set", target, value)...)
	}
	if o.Seed != "" {
		problems = append(problems, override(root, "--seed", "seed", o.Seed)...)
	}
	if o.Until != "" {
		problems = append(problems, override(root, "--until", "until", o.Until)...)
	}
	if o.Memory != "" {
		problems = append(problems, override(root, "--memory", "memory", o.Memory)...)
	}
	if o.PublicLCM != "" {
		where := &node{at: place{file: lcmFlag}, value: fromWorkingDirectory(o.PublicLCM)}
		if err := c.assign(root, "public_lcm", where); err != nil {
			problems = append(problems, problem.Problem{File: lcmFlag, Path: "public_lcm", Message: err.Error()})
		}
	}
	if o.LCMNames != "" {
		problems = append(problems, override(root, "--lcm-names", "lcm_names", o.LCMNames)...)
	}
	if o.LCMSubscribers != "" {
		problems = append(problems, override(root, "--lcm-subscribers", "lcm_subscribers", o.LCMSubscribers)...)
	}
	return problems
}

// override replaces the value at a path, and adds the keys on the path that do not exist.
func (c *composer) override(root *node, flag, target, text string) []problem.Problem {
	value, problems := &node{}, []problem.Problem(nil)
	if strings.TrimSpace(text) != "" { // an empty text is null, like a key of a file without a value
		value, problems = parse(flag, []byte(text))
	}
	if problems != nil {
		for i := range problems {
			problems[i].Line, problems[i].Column, problems[i].Path = 0, 0, target
		}
		return problems
	}
	unplace(value, place{file: flag})
	if err := c.assign(root, target, value); err != nil {
		return []problem.Problem{{File: flag, Path: target, Message: err.Error()}}
	}
	return nil
}

// assign replaces or adds the value at the path target. A path leads on into the file of a scenario inside: clients.cell.links[0].delay.
func (c *composer) assign(root *node, target string, value *node) error {
	if !targetSyntax.MatchString(target) {
		return fmt.Errorf("is no path; write keys with dots and numbers in brackets, such as links[1].delay")
	}
	n, rest, at := root, target, &c.level
	for steps := 0; rest != ""; steps++ {
		if steps == maxDepth {
			return fmt.Errorf("is longer than %d steps; a scenario needs six", maxDepth)
		}
		step, remainder := cutStep(n, rest)
		last := remainder == ""
		switch v := n.value.(type) {
		case []*node:
			i, err := element(v, step)
			if err != nil {
				return err
			}
			if last {
				v[i] = value
			}
			n = v[i]
		case *mapping:
			if isComposite(n) && (step == "clients" || step == "links") {
				in := c.load(n, path{"clients", n.child("name").word()}, at)
				if in.root == nil {
					return fmt.Errorf("leads into a scenario that cannot be read; mend with.file of %q", n.child("name").word())
				}
				if n, at = in.root, &in.level; n.child(step) == nil {
					return fmt.Errorf("%s has no %s", in.file, step)
				}
				n = n.child(step)
				if last {
					in.root.value.(*mapping).set(step, value.at, value) // it has the key
				}
				rest = remainder
				continue
			}
			n = member(v, step, value, last)
		default:
			return fmt.Errorf("%q lies inside of a plain value; name the value itself", step)
		}
		rest = remainder
	}
	return nil
}

// member returns the value of a key. At the end of a path it sets the key to the new value; before the end it adds an empty
// mapping where the key is missing or null, which is how YAML reads a key without a value.
func member(m *mapping, key string, value *node, last bool) *node {
	if last {
		m.set(key, value.at, value)
		return value
	}
	if e := m.entry(key); e != nil && e.value.value != nil {
		return e.value
	}
	n := &node{at: value.at, value: &mapping{}}
	m.set(key, value.at, n)
	return n
}

// targetSyntax is a key, then keys behind dots and elements in brackets.
var targetSyntax = regexp.MustCompile(`^[^.\[\]]+(\.[^.\[\]]+|\[[^\[\]]+\])*$`)

// cutStep splits a path into its first step, "[2]" or a key, and the rest. In a list whose elements have names, the step is the
// longest name that the path begins with, as names may contain dots.
func cutStep(n *node, rest string) (step, remainder string) {
	if rest[0] == '[' {
		step, remainder, _ = strings.Cut(rest[1:], "]")
		return step, strings.TrimPrefix(remainder, ".")
	}
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	for _, item := range n.items() {
		name := item.child("name").word() // an element without a name matches no step
		after, fits := strings.CutPrefix(rest, name)
		if fits && len(name) > end && (after == "" || after[0] == '.' || after[0] == '[') {
			end = len(name)
		}
	}
	return rest[:end], strings.TrimPrefix(rest[end:], ".")
}

// element finds a list element by its number, or by its name.
func element(list []*node, step string) (int, error) {
	var names []string
	for i, item := range list {
		name, ok := item.child("name").text()
		if ok && name == step {
			return i, nil
		}
		if ok {
			names = append(names, name)
		}
	}
	if i, err := strconv.Atoi(step); err == nil {
		if i >= 0 && i < len(list) {
			return i, nil
		}
		return 0, fmt.Errorf("there is no number %d; the list has %d elements, counted from 0", i, len(list))
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%q is no element; number it, as in links[0]", step)
	}
	return 0, fmt.Errorf("nothing here is named %q; %s", step, suggest.Word(step, names))
}
