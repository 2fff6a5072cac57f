package scenarios

import (
	"strconv"
	"strings"
)

// A node is one value of a scenario together with the place it was written at.
type node struct {
	at place
	// value is nil, a bool, int64, uint64, float64 or string, a []*node, or a *mapping.
	value any
}

// A place is where a value, or a key, stands.
type place struct {
	file         string
	line, column int
}

// problem makes a Problem at a place.
func (at place) problem(p path, message string) Problem {
	return Problem{File: at.file, Line: at.line, Column: at.column, Path: p.String(), Message: message}
}

// A mapping keeps its entries in the order of the file. Keys are unique.
type mapping struct{ entries []entry }

type entry struct {
	key   string
	at    place // of the key
	value *node
}

// get returns the value of a key, or nil.
func (m *mapping) get(key string) *node {
	for i := range m.entries {
		if m.entries[i].key == key {
			return m.entries[i].value
		}
	}
	return nil
}

// set gives a key a value, at the end where it is new.
func (m *mapping) set(key string, at place, value *node) {
	for i := range m.entries {
		if m.entries[i].key == key {
			m.entries[i].value = value
			m.entries[i].at = at
			return
		}
	}
	m.entries = append(m.entries, entry{key, at, value})
}

// child returns the member of a mapping, or nil where n is no mapping or has no such key. A nil node has no members.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	if m, ok := n.value.(*mapping); ok {
		return m.get(key)
	}
	return nil
}

// items returns the elements of a list; none where n is no list.
func (n *node) items() []*node {
	if n == nil {
		return nil
	}
	list, _ := n.value.([]*node) // no list has no elements
	return list
}

// plain returns the value without places, as encoding/json would have it: map[string]any, []any and scalars.
func (n *node) plain() any {
	switch v := n.value.(type) {
	case []*node:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = item.plain()
		}
		return list
	case *mapping:
		m := make(map[string]any, len(v.entries))
		for _, e := range v.entries {
			m[e.key] = e.value.plain()
		}
		return m
	}
	return n.value
}

// A path leads from the root of a scenario to a value: keys, and indices in decimal.
type path []string

// String writes "clients[0].with.rounds".
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		if _, err := strconv.Atoi(step); err == nil {
			b.WriteString("[" + step + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// to appends steps without touching p.
func (p path) to(steps ...string) path {
	return append(p[:len(p):len(p)], steps...)
}

// find follows a path and returns the deepest node that exists, and the place to point at: of the last key where
// wantKey, else of the value.
func (n *node) find(p path, wantKey bool) (*node, place) {
	at := n.at
	for _, step := range p {
		switch v := n.value.(type) {
		case []*node:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return n, at
			}
			n, at = v[i], v[i].at
		case *mapping:
			e := v.entry(step)
			if e == nil {
				return n, at
			}
			n, at = e.value, e.value.at
			if wantKey {
				at = e.at
			}
		default:
			return n, at
		}
	}
	return n, at
}

func (m *mapping) entry(key string) *entry {
	for i := range m.entries {
		if m.entries[i].key == key {
			return &m.entries[i]
		}
	}
	return nil
}
