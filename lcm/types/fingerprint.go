package types

import (
	"math/bits"
	"slices"
)

// maxVisits bounds the work for all fingerprints of a set: many structs that all refer to one another have more paths than
// can be followed, also for lcm-gen's code.
const maxVisits = 1 << 20

// A hash mixes bytes like lcm-gen: each byte is a C char, which is signed.
type hash uint64

func (h hash) char(c byte) hash {
	return (h<<8 ^ hash(int64(h)>>55)) + hash(int8(c))
}

// text mixes in the length of a string, as one char, and its bytes.
func (h hash) text(s string) hash {
	h = h.char(byte(len(s)))
	for i := range len(s) {
		h = h.char(s[i])
	}
	return h
}

// base returns the hash of a type without the types of its members.
func base(t *Type) hash {
	if t.Enum {
		return hash(0x87654321).text(t.shortName())
	}
	h := hash(0x12345678)
	for _, m := range t.Members {
		h = h.text(m.Name)
		if m.Kind != Nested {
			h = h.text(m.Kind.String())
		}
		h = h.char(byte(len(m.Dims)))
		for _, d := range m.Dims {
			mode := byte(0)
			if d.Variable {
				mode = 1
			}
			h = h.char(mode).text(d.Text)
		}
	}
	return h
}

// setFingerprints sets the fingerprint of every type.
func setFingerprints(all []*Type, ps *problems) {
	f := fingerprinter{bases: map[*Type]hash{}, known: map[*Type]hash{}}
	for _, t := range all {
		f.bases[t] = base(t)
	}
	for _, t := range all {
		h, _ := f.of(t)
		if f.visits > maxVisits {
			ps.add(t.Position, "%s refers to itself in too many ways for a fingerprint; use fewer types that refer to one another", t.Name)
			return
		}
		t.Fingerprint = uint64(h)
	}
}

// A fingerprinter computes the fingerprints of a set.
type fingerprinter struct {
	bases  map[*Type]hash
	known  map[*Type]hash // of types that lead to no circle: their hash does not depend on the path
	path   []*Type
	visits int
}

// of returns the hash of a type, given the types on the path. free reports that it does not depend on these. A struct that is
// already on the path counts as 0, as for lcm-gen.
func (f *fingerprinter) of(t *Type) (h hash, free bool) {
	if h, ok := f.known[t]; ok {
		return h, true
	}
	if slices.Contains(f.path, t) {
		return 0, false
	}
	if f.visits++; f.visits > maxVisits {
		return 0, false
	}
	h, free = f.bases[t], true
	f.path = append(f.path, t)
	for i := range t.Members {
		if m := &t.Members[i]; m.Kind == Nested {
			more, alone := f.of(m.Type)
			h, free = h+more, free && alone
		}
	}
	f.path = f.path[:len(f.path)-1]
	if !t.Enum {
		h = hash(bits.RotateLeft64(uint64(h), 1))
	}
	if free {
		f.known[t] = h
	}
	return h, free
}
