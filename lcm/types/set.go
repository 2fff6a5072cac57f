package types

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/internal/suggest"
)

// The limits of a set. They are far beyond what people write.
const (
	maxFile  = 1 << 20 // bytes of a file
	maxTotal = 1 << 26 // bytes of all
	maxFiles = 10_000
	maxTypes = 20_000
)

// A source is a file that was read.
type source struct {
	name string // for errors
	text []byte
}

// A Set is types that refer to one another. It never changes, so goroutines may share it.
type Set struct {
	all           []*Type // sorted by name
	byName        map[string]*Type
	byFingerprint map[uint64][]*Type
}

// newSet returns the types of files, or all that is wrong in them as a *[problem.Invalid].
func newSet(files ...source) (*Set, error) {
	var ps problems
	s := &Set{byName: map[string]*Type{}, byFingerprint: map[uint64][]*Type{}}
	for _, f := range files {
		if len(f.text) > maxFile {
			ps.add(Position{f.name, 1, 1}, "the file has %d bytes; use at most %d", len(f.text), maxFile)
			continue
		}
		for _, t := range parse(f.name, string(f.text), &ps) {
			s.declare(t, &ps)
		}
	}
	slices.SortFunc(s.all, func(a, b *Type) int { return cmp.Compare(a.Name, b.Name) })
	s.resolve(&ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	s.measure(&ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	setFingerprints(s.all, &ps)
	if err := ps.err(); err != nil {
		return nil, err
	}
	for _, t := range s.all {
		s.byFingerprint[t.Fingerprint] = append(s.byFingerprint[t.Fingerprint], t)
	}
	return s, nil
}

// Types returns all types, sorted by name.
func (s *Set) Types() []*Type { return slices.Clone(s.all) }

// Lookup returns the type with a full name, such as "probe.grid_t", or nil.
func (s *Set) Lookup(name string) *Type { return s.byName[name] }

// Of returns the types with the fingerprint with which a payload begins.
func (s *Set) Of(payload []byte) []*Type {
	f, ok := FingerprintOf(payload)
	if !ok {
		return nil
	}
	return s.With(f)
}

// With returns the types with a fingerprint, sorted by name: none, one, or several that differ only in their names. The
// caller must not change the slice.
func (s *Set) With(fingerprint uint64) []*Type { return s.byFingerprint[fingerprint] }

// declare adds a type.
func (s *Set) declare(t *Type, ps *problems) {
	if first, twice := s.byName[t.Name]; twice {
		ps.add(t.Position, "%s is declared a second time, after %s; remove one", t.Name, first.Position)
		return
	}
	if len(s.all) == maxTypes {
		ps.add(t.Position, "there are more than %d types; load fewer", maxTypes)
		return
	}
	s.byName[t.Name] = t
	s.all = append(s.all, t)
}

// resolve sets the type of every member.
func (s *Set) resolve(ps *problems) {
	for _, t := range s.all {
		for i := range t.Members {
			m := &t.Members[i]
			if m.Kind != Nested {
				continue
			}
			if m.Type = s.byName[m.ref.Name]; m.Type == nil && !ps.full() {
				ps.add(m.ref.Position, "there is no type %s; %s", m.ref.Name, s.remedy(m.ref.Name))
			}
		}
	}
}

// remedy says what may be meant by the name of a type that is not declared.
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
	for _, near := range []string{suggest.Word(short, kindNames[1:]), suggest.Word(name, names)} {
		if strings.HasPrefix(near, "did you mean") {
			return near
		}
	}
	return "declare it, or load the files that do"
}

// measure sets the least size of every type. It refuses a struct that contains itself, because its messages would not end. A struct may
// contain itself in an array that can be empty.
func (s *Set) measure(ps *problems) {
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
		t.measure()
	}
	for _, t := range s.all {
		if !done[t] {
			visit(t)
		}
	}
}

// measure sets t.least, when those of its members are set.
func (t *Type) measure() {
	if t.Enum {
		t.least = leastBytes[Int32]
	}
	for i := range t.Members {
		m := &t.Members[i]
		if m.variable() {
			continue
		}
		size := m.least()
		for _, d := range m.Dims {
			size = product(size, d.Size)
		}
		t.least += min(size, huge-t.least)
	}
}
