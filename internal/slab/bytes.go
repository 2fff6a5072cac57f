package slab

import "bytes"

// Bytes lends memory for copies of byte slices: small ones share a chunk, so that a copy seldom allocates. The zero value
// is ready to use.
type Bytes struct {
	chunk []byte
	used  int // of the chunk
}

const minChunk = 256

// Copy returns a copy of b; of no bytes, nil. Chunks grow up to most bytes, and a copy that would take more than a quarter of
// such a chunk gets memory of its own. The copy is valid until Reclaim.
func (m *Bytes) Copy(b []byte, most int) []byte {
	switch {
	case len(b) == 0:
		return nil
	case len(b) > most/4:
		return bytes.Clone(b)
	case len(b) > len(m.chunk)-m.used:
		m.chunk, m.used = make([]byte, max(min(max(minChunk, 2*len(m.chunk)), most), len(b))), 0
	}
	end := m.used + len(b)
	kept := m.chunk[m.used:end:end] // an append by its owner must not reach the next copy
	copy(kept, b)
	m.used = end
	return kept
}

// Reclaim takes back all that was lent.
func (m *Bytes) Reclaim() { m.used = 0 }
