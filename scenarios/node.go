package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"metasim/internal/problem"
)

// find follows a path and returns the deepest node that exists, and the place to point at: of the last key where
// wantKey, else of the value.
func (n *node) find(p path, wantKey bool) (*node, place) {
	at := n.at
	for _, step := range p {
		next := n.child(step)
		if next == nil {
			break
		}
		at = next.at
		if m, ok := n.value.(*mapping); ok && wantKey {
			at = m.entry(step).at
		}
		n = next
	}
	return n, at
}

// child returns the member of a mapping with that key, or the element of a list with that index in decimal; nil where there is
// none. A nil node has none.
func (n *node) child(step string) *node {
	if n == nil {
		return nil
	}
	switch v := n.value.(type) {
	case *mapping:
		if e := v.entry(step); e != nil {
			return e.value
		}
	case []*node:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// items returns the elements of a list; none where n is nil or no list.
func (n *node) items() []*node {
	if n == nil {
		return nil
	}
	list, _ := n.value.([]*node) // no list has no elements
	return list
}

// text returns a string value. A nil node has none.
func (n *node) text() (string, bool) {
	if n == nil {
		return "", false
	}
	s, ok := n.value.(string)
	return s, ok
}

// word returns a string value, or "".
func (n *node) word() string {
	s, _ := n.text()
	return s
}

// number returns a number; none where there is no number.
func (n *node) number(none float64) float64 {
	if n == nil {
		return none
	}
	switch v := n.value.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	return none
}

// plain returns the value without places, as encoding/json would decode it: map[string]any, []any and scalars; nil for a nil
// node.
func (n *node) plain() any {
	if n == nil {
		return nil
	}
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

// entry returns the entry of a key, or nil.
func (m *mapping) entry(key string) *entry {
	for i := range m.entries {
		if m.entries[i].key == key {
			return &m.entries[i]
		}
	}
	return nil
}

// set gives a key a value, at the end where it is new.
func (m *mapping) set(key string, at place, value *node) {
	if e := m.entry(key); e != nil {
		e.at, e.value = at, value
		return
	}
	m.entries = append(m.entries, entry{key, at, value})
}

// problem makes a Problem at a place.
func (at place) problem(p path, message string) problem.Problem {
	return problem.Problem{File: at.file, Line: at.line, Column: at.column, Path: p.String(), Message: message}
}

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

// in appends an index.
func (p path) in(i int) path { return p.to(strconv.Itoa(i)) }

// unplace gives n and everything below it the place of a flag.
func unplace(n *node, at place) {
	n.at = at
	for _, item := range n.items() {
		unplace(item, at)
	}
	if m, ok := n.value.(*mapping); ok {
		for i := range m.entries {
			m.entries[i].at = at
			unplace(m.entries[i].value, at)
		}
	}
}

// textsOf returns the members of an object that are texts.
func textsOf(o object) map[string]string {
	m := make(map[string]string, len(o))
	for key, value := range o {
		m[key], _ = value.(string) // the schema lets nothing else pass
	}
	return m
}

func inLine(at place) string {
	if at.line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", at.line)
}

// in returns the path that an element of a composed scenario has in its own file.
func (o origins) in(p path) path {
	if len(p) < 2 {
		return p
	}
	if i, err := strconv.Atoi(p[1]); err == nil && i >= 0 && i < len(o[p[0]]) && o[p[0]][i].path != nil {
		return append(slices.Clone(o[p[0]][i].path), p[2:]...)
	}
	return p
}
