package types

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"metasim/internal/suggest"
)

// The bounds of what is loaded. They are far beyond what people write.
const (
	maxFile  = 1 << 20 // bytes of a file
	maxTotal = 1 << 26 // bytes of all
	maxFiles = 10_000
	maxTypes = 20_000
)

// A Source is a file that is already in memory.
type Source struct {
	Name string // for messages
	Text []byte
}

// A Set is types that know one another. It does not change once it is made, so that many may use it.
type Set struct {
	all   []*Type // sorted by name
	names map[string]*Type
	marks map[uint64][]*Type
}

// Parse returns the types of some files, which may refer to one another. What is wrong with them, it tells all at once
// with an *[problem.Invalid].
func Parse(files ...Source) (*Set, error) {
	var ps problems
	s := &Set{names: map[string]*Type{}, marks: map[uint64][]*Type{}}
	for _, f := range files {
		if len(f.Text) > maxFile {
			ps.add(Position{f.Name, 1, 1}, "the file has %d bytes; use at most %d", len(f.Text), maxFile)
			continue
		}
		for _, t := range parse(f.Name, string(f.Text), &ps) {
			s.declare(t, &ps)
		}
	}
	slices.SortFunc(s.all, func(a, b *Type) int { return cmp.Compare(a.Name, b.Name) })
	s.resolve(&ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	s.checkFinite(&ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	for _, t := range s.all {
		t.measure()
	}
	s.fingerprint(&ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	for _, t := range s.all {
		s.marks[t.Fingerprint] = append(s.marks[t.Fingerprint], t)
	}
	return s, nil
}

// Types returns all types, sorted by name.
func (s *Set) Types() []*Type { return slices.Clone(s.all) }

// Lookup returns the type of a full name, as "probe.grid_t", or nil.
func (s *Set) Lookup(name string) *Type { return s.names[name] }

// Of returns the types of whose messages a payload may be one: those that have the fingerprint with which it begins.
func (s *Set) Of(payload []byte) []*Type {
	f, ok := FingerprintOf(payload)
	if !ok {
		return nil
	}
	return s.With(f)
}

// With returns the types that have a fingerprint, sorted by name: none, one, or several that differ in names only. Do
// not change the slice.
func (s *Set) With(fingerprint uint64) []*Type { return s.marks[fingerprint] }

// declare takes a type in.
func (s *Set) declare(t *Type, ps *problems) {
	if first, twice := s.names[t.Name]; twice {
		ps.add(t.Position, "%s is declared a second time, after %s; remove one", t.Name, first.Position)
		return
	}
	if len(s.all) == maxTypes {
		ps.add(t.Position, "there are more than %d types; load fewer", maxTypes)
		return
	}
	s.names[t.Name] = t
	s.all = append(s.all, t)
}

// resolve gives every member its type.
func (s *Set) resolve(ps *problems) {
	for _, t := range s.all {
		for i := range t.Members {
			m := &t.Members[i]
			if m.Kind != Nested {
				continue
			}
			if m.Type = s.names[m.ref.Name]; m.Type == nil && !ps.full() {
				ps.add(m.ref.Position, "there is no type %s; %s", m.ref.Name, s.remedy(m.ref.Name))
			}
		}
	}
}

// remedy says what may have been meant by the name of a type that there is not.
func (s *Set) remedy(name string) string {
	short := name[strings.LastIndexByte(name, '.')+1:]
	if slices.Contains([]string{"int", "long", "short", "char", "unsigned", "uint8_t", "uint16_t", "uint32_t", "uint64_t"}, short) {
		return "use int8_t, int16_t, int32_t, int64_t or byte"
	}
	var names []string
	for _, t := range s.all {
		if strings.HasSuffix(t.Name, "."+short) {
			return fmt.Sprintf("did you mean %q?", t.Name)
		}
		names = append(names, t.Name)
	}
	for _, near := range []string{suggest.Word(short, primitives[1:]), suggest.Word(name, names)} {
		if strings.HasPrefix(near, "did you mean") {
			return near
		}
	}
	return "declare it, or load the files that do"
}

// checkFinite refuses structs that hold themselves without an array that can be empty: such a message has no end.
func (s *Set) checkFinite(ps *problems) {
	done := map[*Type]bool{} // false while it is on the path
	var path []string
	var visit func(t *Type)
	visit = func(t *Type) {
		done[t] = false
		path = append(path, t.Name)
		for i := range t.Members {
			m := &t.Members[i]
			if m.Kind != Nested || m.variable() {
				continue
			}
			if finished, seen := done[m.Type]; !seen {
				visit(m.Type)
			} else if !finished {
				loop := path[slices.Index(path, m.Type.Name):]
				ps.add(m.Position, "%s holds itself: %s -> %s; make it an array that a member sizes", m.Type.Name,
					strings.Join(loop, " -> "), m.Type.Name)
			}
		}
		path = path[:len(path)-1]
		done[t] = true
	}
	for _, t := range s.all {
		if !done[t] {
			visit(t)
		}
	}
}

// huge is where sizes saturate.
const huge = math.MaxInt64

// product multiplies sizes, which are not negative.
func product(a, b int64) int64 {
	if a > 0 && b > huge/a {
		return huge
	}
	return a * b
}

// measure finds the fewest bytes of a value of type t. No struct holds itself by now.
func (t *Type) measure() int64 {
	if t.measured {
		return t.least
	}
	t.measured = true
	if t.Enum {
		t.least = Int32.least()
	}
	for i := range t.Members {
		m := &t.Members[i]
		if m.variable() {
			continue
		}
		size := m.Kind.least()
		if m.Kind == Nested {
			size = m.Type.measure()
		}
		for _, d := range m.Dims {
			size = product(size, d.Size)
		}
		t.least += min(size, huge-t.least)
	}
	return t.least
}
