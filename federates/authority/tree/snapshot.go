package tree

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// format names what a snapshot and an export are written as.
const format = "metasim tree 1"

// A snapshot is a whole tree, as it is written.
type snapshot struct {
	Format      string       `json:"format"`
	Index       uint64       `json:"index"`
	Sessions    []string     `json:"sessions,omitempty"`
	Triggers    []Trigger    `json:"triggers,omitempty"`
	Projections []Projection `json:"projections,omitempty"`
	Nodes       []saved      `json:"nodes"` // each after the one above it; the root first
}

// A saved node.
type saved struct {
	Path             Path    `json:"path"`
	Payload          Payload `json:"payload,omitzero"`
	PayloadVersion   uint64  `json:"payload_version"`
	ChildListVersion uint64  `json:"child_list_version"`
	Keep             []Keep  `json:"keep,omitempty"`
}

// given returns what keeps a node as a command would give it.
func given(keep []kept) []Keep {
	var out []Keep
	for i := range keep {
		k := Keep{Session: keep[i].session}
		if k.Session == "" {
			k.Path, k.If = string(keep[i].path), *keep[i].check.Condition
		}
		out = append(out, k)
	}
	return out
}

// Snapshot returns the whole tree as bytes: equal trees give equal ones.
func (t *Tree) Snapshot() ([]byte, error) {
	s := snapshot{Format: format, Index: t.index, Sessions: t.sessions}
	for _, trigger := range t.triggers {
		s.Triggers = append(s.Triggers, trigger.Trigger)
	}
	for _, p := range t.projections {
		s.Projections = append(s.Projections, p.Projection)
	}
	var save func(path Path, n *node)
	save = func(path Path, n *node) {
		s.Nodes = append(s.Nodes, saved{path, n.payload, n.payloadVersion, n.childListVersion, given(n.keep)})
		for _, c := range n.children {
			save(path.child(c.name), c)
		}
	}
	save(Root, t.root)
	return json.Marshal(s)
}

// Restore returns the tree of a snapshot. Limits and functions are as for New; nodes that are there may be more than the limits allow for new ones.
func Restore(text []byte, limits Limits, functions map[string]Function) (*Tree, error) {
	t, err := New(limits, functions)
	if err != nil {
		return nil, err
	}
	var s snapshot
	if err := strictly(text, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if s.Format != format || len(s.Nodes) == 0 || s.Nodes[0].Path != Root {
		return nil, fmt.Errorf("%w: its format is %q, and this program reads %q, with the root first", ErrSnapshot, clip(s.Format), format)
	}
	if err := t.restore(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	t.undo, t.changed, t.events, t.index = nil, nil, nil, s.Index
	t.project(nil)
	return t, nil
}

func (t *Tree) restore(s *snapshot) error {
	for _, name := range s.Sessions {
		if err := t.openSession(name); err != nil {
			return err
		}
	}
	for i := range s.Nodes {
		if err := t.restoreNode(&s.Nodes[i], i == 0); err != nil {
			return err
		}
	}
	for i := range s.Nodes {
		n := t.lookup(s.Nodes[i].Path)
		n.childListVersion = s.Nodes[i].ChildListVersion // which children that were added have raised
		keep, err := t.readyKeep(s.Nodes[i].Path, s.Nodes[i].Keep)
		if err != nil {
			return err
		}
		if len(keep) > 0 {
			t.setKeep(s.Nodes[i].Path, n, keep)
		}
	}
	for i := range s.Triggers {
		if err := t.setTrigger(&s.Triggers[i]); err != nil {
			return err
		}
	}
	for i := range s.Projections {
		if err := t.setProjection(&s.Projections[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) restoreNode(s *saved, root bool) error {
	if err := s.Path.Check(); err != nil {
		return err
	}
	if err := t.checkPayload(s.Payload); err != nil {
		return err
	}
	n := t.root
	if !root {
		names := s.Path.Components()
		parent := t.lookup(s.Path.Parent())
		switch {
		case len(names) == 0 || len(names) > t.limits.Depth:
			return fmt.Errorf("%w: %s has %d components, at most %d", ErrPath, clip(string(s.Path)), len(names), t.limits.Depth)
		case parent == nil:
			return fmt.Errorf("%w: %s comes before the node above it", ErrNotFound, clip(string(s.Path)))
		case parent.child(names[len(names)-1]) != nil:
			return fmt.Errorf("%w: %s comes twice", ErrExists, clip(string(s.Path)))
		}
		n = newNode(names[len(names)-1])
		t.addChild(parent, n)
	}
	if s.PayloadVersion == 0 || s.ChildListVersion == 0 {
		return fmt.Errorf("%w: a version of %s is 0; they begin with 1", ErrMismatch, clip(string(s.Path)))
	}
	n.payload, n.payloadVersion = s.Payload, s.PayloadVersion
	return nil
}

// Export writes the nodes of a pattern: lines of JSON, each the command that makes a node. What a session keeps is left out, and versions are. Conditions that keep
// nodes come after all nodes, as they may name nodes that come later.
func (t *Tree) Export(w io.Writer, p Pattern) error {
	checks, err := p.ready(t.limits.Depth)
	if err != nil {
		return err
	}
	hits, err := t.find(checks, false, -1)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, conditions := range []bool{false, true} {
		for _, h := range hits {
			if t.ofSession(h.path) || conditions && len(h.at.keep) == 0 {
				continue
			}
			c := Command{Kind: KindPut, Pattern: h.path.Pattern(), Payload: h.at.payload}
			if conditions {
				c.Keep = given(h.at.keep)
			}
			text, err := c.Encode()
			if err != nil {
				return err
			}
			if _, err := out.Write(append(text, '\n')); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// ofSession reports whether a session keeps a node, or one above it.
func (t *Tree) ofSession(path Path) bool {
	at := t.root
	for _, name := range path.Components() {
		at = at.child(name)
		if slices.ContainsFunc(at.keep, func(k kept) bool { return k.session != "" }) {
			return true
		}
	}
	return false
}

// Import reads the commands that Export wrote. What else is in a tree stays when they are applied.
func Import(r io.Reader) ([]Command, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var all []Command
	for line := 1; ; line++ {
		text, err := readLine(in)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			c, wrong := Decode(text)
			if wrong == nil && c.Kind != KindPut {
				wrong = fmt.Errorf("%w: %q in an export, which has puts alone", ErrCommand, clip(string(c.Kind)))
			}
			if wrong != nil {
				return nil, fmt.Errorf("line %d: %w", line, wrong)
			}
			all = append(all, c)
		}
		if err == io.EOF {
			return all, nil
		}
	}
}

// readLine reads a line of at most MaxCommand bytes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > MaxCommand {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrCommand, MaxCommand)
		}
	}
}
