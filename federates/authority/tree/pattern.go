package tree

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Pattern is a condition for each component of a path: all conditions must be met on the way to a node that matches. An empty one is the root.
type Pattern []Condition

// Pattern returns the pattern that this path alone matches.
func (p Path) Pattern() Pattern {
	var out Pattern
	if !strings.HasPrefix(string(p), "/") {
		return Pattern{Is("")} // which is refused where it is used
	}
	for _, c := range p.Components() {
		out = append(out, Is(c))
	}
	return out
}

// If returns a pattern with more conditions for its last component.
func (p Pattern) If(more ...Condition) Pattern {
	if len(p) == 0 {
		return p
	}
	out := slices.Clone(p)
	out[len(p)-1] = All(append([]Condition{p[len(p)-1]}, more...)...)
	return out
}

// ParsePattern reads a path in which "*" stands for any characters of a name, and "**", alone in a component, for any path.
func ParsePattern(text string) (Pattern, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("%w: %q does not begin with /", ErrPath, clip(text))
	}
	var out Pattern
	for _, c := range Path(text).Components() {
		switch {
		case c == "**":
			out = append(out, PathMatches(""))
		case c == "*":
			out = append(out, NameMatches(""))
		case strings.Contains(c, "*"):
			parts := strings.Split(c, "*")
			for i, part := range parts {
				if strings.Trim(part, ".") == "" { // what is between stars may be dots
					parts[i] = regexp.QuoteMeta(part)
					continue
				}
				if err := checkComponent(part); err != nil {
					return nil, err
				}
				parts[i] = regexp.QuoteMeta(Path("/" + part).Name())
			}
			out = append(out, NameMatches("(?s)^"+strings.Join(parts, ".*")+"$"))
		default:
			if err := checkComponent(c); err != nil {
				return nil, err
			}
			out = append(out, Is(c))
		}
	}
	return out, nil
}

// path returns the one path that a pattern can match, if there is one.
func (p Pattern) path() (Path, bool) {
	at := Root
	for i := range p {
		name, ok := p[i].component()
		if !ok {
			return "", false
		}
		at = at.child(name)
	}
	return at, true
}

// ready checks a pattern, and prepares it.
func (p Pattern) ready(depth int) ([]check, error) {
	if len(p) > depth {
		return nil, fmt.Errorf("%w: it has %d components, at most %d; put nodes less deep, or raise limit depth", ErrPath, len(p), depth)
	}
	out := make([]check, len(p))
	for i := range p {
		k, err := p[i].ready(0)
		if err != nil {
			return nil, err
		}
		out[i] = k
	}
	return out, nil
}

// A hit is a node that a walk found, or the place where a node is missing.
type hit struct {
	path Path
	at   *node // nil: it is missing
}

// A walk finds what a pattern matches.
type walk struct {
	checks []check
	left   int // nodes that it may still look at; below 0: no bound
	most   int
	seen   map[visit]bool // looked up, never iterated: with ** twice, a node may be reached in many ways
	hits   []hit
	// missing has the walk return the places of names that are missing at the end of a pattern.
	missing bool
}

type visit struct {
	at   *node
	part int
}

// find returns what a pattern matches, by path. With missing it also returns where a node of that name would be made. It looks at most nodes; below 0: without
// end.
func (t *Tree) find(checks []check, missing bool, most int) ([]hit, error) {
	w := walk{checks: checks, left: most, most: most, seen: map[visit]bool{}, missing: missing}
	if err := w.down(Root, t.root, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(w.hits, func(a, b hit) int { return cmp.Compare(a.path, b.path) })
	return w.hits, nil
}

// down looks at the children of a node that matched the components before part.
func (w *walk) down(path Path, at *node, part int) error {
	if part == len(w.checks) {
		w.hits = append(w.hits, hit{path: path, at: at})
		return nil
	}
	if v := (visit{at, part}); w.seen[v] {
		return nil
	} else if len(w.checks) > 1 {
		w.seen[v] = true
	}
	k := &w.checks[part]
	if name, ok := k.component(); ok {
		return w.one(path, at, part, name)
	}
	deep := k.recursive()
	for _, c := range at.children {
		if w.left == 0 {
			return fmt.Errorf("%w: more than %d; ask for fewer at a time by a longer path, or raise limit walk", ErrWalk, w.most)
		}
		w.left--
		below := path.child(c.name)
		seen := c.seen(below)
		if k.met(c.name, &seen) {
			if err := w.down(below, c, part+1); err != nil {
				return err
			}
		}
		if deep {
			if err := w.down(below, c, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// one looks at the one child that can match.
func (w *walk) one(path Path, at *node, part int, name string) error {
	k := &w.checks[part]
	below := path.child(name)
	if c := at.child(name); c != nil {
		seen := c.seen(below)
		if !k.met(name, &seen) {
			return nil
		}
		return w.down(below, c, part+1)
	}
	if !w.missing || !k.met(name, nil) {
		return nil
	}
	for i := range w.checks[part+1:] {
		k := &w.checks[part+1+i]
		next, ok := k.component()
		if !ok || !k.met(next, nil) {
			return nil
		}
		below = below.child(next)
	}
	w.hits = append(w.hits, hit{path: below})
	return nil
}
