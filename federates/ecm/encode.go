package ecm

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// The encoding, all numbers as uvarints without needless bytes:
//
//	1                              the version of the encoding
//	n, n times: length, name       the types that occur, in order: later named by their position
//	n, n times: writer, count      counters
//	n, n times: entity             removed entities, each as the distance from the one before
//	n, n times:                    edits
//	    entity                     as the distance from the one before
//	    0, or 1 and the parent     not created, or created
//	    n, n times: type, kind, length, value
//	    n, n times: type           removed components
//
// Every list is in order and names nothing twice, so changes have one encoding.
const formatVersion = 1

// Append appends the encoding of changes.
func (c *Changes) Append(b []byte) []byte {
	types := c.types()
	b = append(b, formatVersion)
	b = binary.AppendUvarint(b, uint64(len(types)))
	for _, t := range types {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Counters)))
	for _, n := range c.Counters {
		b = binary.AppendUvarint(b, uint64(n.Writer))
		b = binary.AppendUvarint(b, uint64(n.Count))
	}
	b = binary.AppendUvarint(b, uint64(len(c.Removed)))
	last := Entity(0)
	for _, e := range c.Removed {
		b = binary.AppendUvarint(b, uint64(e-last))
		last = e
	}
	b = binary.AppendUvarint(b, uint64(len(c.Edits)))
	last = 0
	for i := range c.Edits {
		b = c.Edits[i].append(b, last, types)
		last = c.Edits[i].Entity
	}
	return b
}

func (e *Edit) append(b []byte, last Entity, types []string) []byte {
	b = binary.AppendUvarint(b, uint64(e.Entity-last))
	if e.Created {
		b = append(b, 1)
		b = binary.AppendUvarint(b, uint64(e.Parent))
	} else {
		b = append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Set)))
	at := 0 // the types of an edit are in order too, so one walk through the table finds them
	for i := range e.Set {
		s := &e.Set[i]
		for types[at] != s.Type {
			at++
		}
		b = binary.AppendUvarint(b, uint64(at))
		b = append(b, byte(s.Kind))
		b = binary.AppendUvarint(b, uint64(len(s.Value)))
		b = append(b, s.Value...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Removed)))
	at = 0
	for _, r := range e.Removed {
		for types[at] != r {
			at++
		}
		b = binary.AppendUvarint(b, uint64(at))
	}
	return b
}

// types returns the types that occur, in order.
func (c *Changes) types() []string {
	var types []string
	add := func(name string) {
		if i, found := slices.BinarySearch(types, name); !found {
			types = slices.Insert(types, i, name)
		}
	}
	var last []Component
	for i := range c.Edits {
		set := c.Edits[i].Set
		for j := range set {
			if j >= len(last) || last[j].Type != set[j].Type { // most entities have the types of the one before
				add(set[j].Type)
			}
		}
		last = set
		for _, r := range c.Edits[i].Removed {
			add(r)
		}
	}
	return types
}

// Hash returns the SHA-256 of the encoded full state.
func (s *Store) Hash() [sha256.Size]byte {
	s.scratch = s.fill(&s.whole).Append(s.scratch[:0])
	return sha256.Sum256(s.scratch)
}
