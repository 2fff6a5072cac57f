package tree

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// A projection is a Projection that is ready to be used, with its table.
type projection struct {
	Projection
	checks   []check
	function Function // nil: this program does not know it
	filled   bool
	rows     []Row // by key
}

// Simple returns the Function that makes a row of each node with data.
func Simple(row func(path Path, data []byte) (key string, value []byte)) Function {
	return func(path Path, before, after *Node) []Row {
		var out []Row
		if after != nil && after.Payload.Kind == Data {
			key, value := row(path, after.Payload.Bytes)
			out = append(out, Row{Key: key, Value: value})
		}
		if before != nil && before.Payload.Kind == Data {
			// A row that stays where it is, is not taken out first: others would move twice.
			if key, _ := row(path, before.Payload.Bytes); len(out) == 0 || key != out[0].Key {
				out = append(out, Row{Key: key, Gone: true})
			}
		}
		return out
	}
}

// function returns a function of projections by its name.
func (t *Tree) function(name string) Function {
	if name == "copy" {
		return Simple(func(path Path, data []byte) (string, []byte) { return string(path), data })
	}
	return t.functions[name]
}

// checkFunctions says which function of a projection is not known.
func (t *Tree) checkFunctions(c *Command) error {
	if c.Kind == KindProjection && c.Projection != nil && t.function(c.Projection.Function) == nil {
		return fmt.Errorf("%w: %q, for projection %q; the program gives functions to its tree", ErrFunction, clip(c.Projection.Function), clip(c.Projection.Name))
	}
	for i := range c.Commands {
		if err := t.checkFunctions(&c.Commands[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) setProjection(given *Projection) error {
	if given == nil {
		return fmt.Errorf("%w: a projection without its description", ErrCommand)
	}
	if err := checkLabel("projection", given.Name); err != nil {
		return err
	}
	if err := checkLabel("function", given.Function); err != nil {
		return err
	}
	checks, err := given.Filter.ready(t.limits.Depth)
	if err != nil {
		return fmt.Errorf("projection %q: %w", given.Name, err)
	}
	for i := range checks {
		if !checks[i].projectable(i == len(checks)-1) {
			return fmt.Errorf("%w: projection %q looks at lists of children, or at more than the names of nodes above: its table would not follow their changes; test names, and the payload of the last component",
				ErrPattern, given.Name)
		}
	}
	before := t.projections
	at, found := t.projection(given.Name)
	after := slices.Clone(before)
	if found {
		after = slices.Delete(after, at, at+1)
	}
	t.projections = slices.Insert(after, at, &projection{Projection: *given, checks: checks, function: t.function(given.Function)})
	t.undo = append(t.undo, func() { t.projections = before })
	return nil
}

// projectable reports whether each change of what a condition tests is an event of the node that matches.
func (k *check) projectable(last bool) bool {
	switch k.Test {
	case TestName, TestNameMatches, TestPathMatches:
		return true
	case TestNot, TestAll, TestAny:
		return !slices.ContainsFunc(k.of, func(inner check) bool { return !inner.projectable(last) })
	case TestChildListLength, TestChildListVersion:
		return false
	}
	return last
}

func (t *Tree) dropProjection(name string) error {
	before := t.projections
	at, found := t.projection(name)
	if !found {
		return fmt.Errorf("%w: %q", ErrProjection, clip(name))
	}
	t.projections = slices.Delete(slices.Clone(before), at, at+1)
	t.undo = append(t.undo, func() { t.projections = before })
	return nil
}

func (t *Tree) projection(name string) (int, bool) {
	return slices.BinarySearchFunc(t.projections, name, func(p *projection, name string) int { return cmp.Compare(p.Name, name) })
}

// project brings the tables up to date after events.
func (t *Tree) project(events []Event) {
	for _, p := range t.projections {
		if p.function == nil {
			continue
		}
		if !p.filled {
			t.fill(p)
			continue
		}
		for _, e := range events {
			before, after := e.Before, e.After
			if before != nil && !t.matches(p.checks, e.Path, before) {
				before = nil
			}
			if after != nil && !t.matches(p.checks, e.Path, after) {
				after = nil
			}
			if before != nil || after != nil {
				p.take(p.function(e.Path, before, after))
			}
		}
	}
}

// fill makes a table from all nodes.
func (t *Tree) fill(p *projection) {
	p.filled, p.rows = true, nil
	hits, err := t.find(p.checks, false, -1)
	if err != nil {
		panic("a walk without a bound went beyond it: " + err.Error())
	}
	for _, h := range hits {
		n := h.at.seen(h.path)
		p.take(p.function(h.path, nil, &n))
	}
}

// take puts rows into a table.
func (p *projection) take(rows []Row) {
	for _, r := range rows {
		at, found := p.row(r.Key)
		switch {
		case r.Gone && found:
			p.rows = slices.Delete(p.rows, at, at+1)
		case found:
			p.rows[at] = r
		case !r.Gone:
			p.rows = slices.Insert(p.rows, at, r)
		}
	}
}

func (p *projection) row(key string) (int, bool) {
	return slices.BinarySearchFunc(p.rows, key, func(r Row, key string) int { return cmp.Compare(r.Key, key) })
}

// table returns a projection that has a table here.
func (t *Tree) table(name string) (*projection, error) {
	at, found := t.projection(name)
	if !found {
		return nil, fmt.Errorf("%w: %q", ErrProjection, clip(name))
	}
	p := t.projections[at]
	if p.function == nil {
		return nil, fmt.Errorf("%w: %q, for projection %q; the program gives functions to its tree", ErrFunction, p.Function, name)
	}
	return p, nil
}

// Rows returns the table of a projection, by key.
func (t *Tree) Rows(name string) ([]Row, error) {
	p, err := t.table(name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(p.rows), nil
}

// Row returns a row of a projection by its key.
func (t *Tree) Row(name, key string) (value []byte, found bool, err error) {
	p, err := t.table(name)
	if err != nil {
		return nil, false, err
	}
	at, found := p.row(key)
	if !found {
		return nil, false, nil
	}
	return bytes.Clone(p.rows[at].Value), true, nil
}
