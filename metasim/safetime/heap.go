package safetime

import (
	"math/bits"

	"metasim/metasim/simtime"
)

// candidates are vertices with the S that they have if no other vertex offers less, the least on top. A vertex may be in it several
// times; all entries but the least are out of date.
//
// It is no pq.Queue but a heap of its own, with a comparison without a jump, as no processor could predict the jump. With a
// pq.Queue the report of a client in a torus or a random graph takes a fifth longer.
type candidates []candidate

// A candidate is an instant, no earlier than Start, and a vertex in sixteen bytes, ordered by both.
type candidate struct {
	time uint64
	rest uint64 // the step, above the vertex
}

func newCandidate(send Instant, v vertex) candidate {
	return candidate{uint64(send.Time), uint64(send.Step)<<32 | uint64(v)}
}

// less is 1 if c comes before d, and else 0.
func (c *candidate) less(d *candidate) int {
	_, borrow := bits.Sub64(c.rest, d.rest, 0)
	_, borrow = bits.Sub64(c.time, d.time, borrow)
	return int(borrow)
}

func (h *candidates) push(c candidate) {
	*h = append(*h, c)
	s := *h
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if c.less(&s[parent]) == 0 {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = c
}

// pop removes the least, and returns its vertex.
func (h *candidates) pop() vertex {
	s := *h
	top, last := vertex(s[0].rest), s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	i := 0
	for {
		child := 4*i + 1
		if child >= len(s) {
			break
		}
		least := child
		if child+4 <= len(s) {
			four := s[child : child+4]
			a := four[1].less(&four[0])
			b := 2 + four[3].less(&four[2])
			least += a + (b-a)*four[b&3].less(&four[a&3])
		} else {
			for k := child + 1; k < len(s); k++ {
				least += (k - least) * s[k].less(&s[least])
			}
		}
		if s[least].less(&last) == 0 {
			break
		}
		s[i] = s[least]
		i = least
	}
	if len(s) > 0 {
		s[i] = last
	}
	return top
}

// A heap orders some of n slots by keys that may change: it knows where each slot is. It is no pq.Queue, as most of what
// happens here is that one key changes: with a pq.Queue the report of a client in a star takes half as long again.
type heap struct {
	entries []entry
	at      []int32 // of each slot, where among the entries it is; -1: it is not there
}

type entry struct {
	key  Instant
	slot int32
}

func newHeap(n int) heap {
	h := heap{at: make([]int32, n)}
	h.clear()
	return h
}

func (h *heap) clear() {
	h.entries = h.entries[:0]
	for i := range h.at {
		h.at[i] = -1
	}
}

// least is the entry with the least key; one of slot none, at Infinity, where there is none.
func (h *heap) least() entry {
	if len(h.entries) == 0 {
		return entry{simtime.Infinity, none}
	}
	return h.entries[0]
}

// set puts a slot in, or changes its key.
func (h *heap) set(slot int32, key Instant) {
	i := int(h.at[slot])
	if i < 0 {
		i = len(h.entries)
		h.entries = append(h.entries, entry{})
	}
	h.sink(h.rise(i, entry{key, slot}), entry{key, slot})
}

// remove takes a slot out, if it is in.
func (h *heap) remove(slot int32) {
	i := int(h.at[slot])
	if i < 0 {
		return
	}
	h.at[slot] = -1
	last := h.entries[len(h.entries)-1]
	h.entries = h.entries[:len(h.entries)-1]
	if i < len(h.entries) {
		h.sink(h.rise(i, last), last)
	}
}

// rise makes room for x above i, and returns where.
func (h *heap) rise(i int, x entry) int {
	for i > 0 {
		parent := (i - 1) / 4
		if !x.key.Before(h.entries[parent].key) {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	return i
}

// sink puts x at i, or below.
func (h *heap) sink(i int, x entry) {
	for {
		child := 4*i + 1
		if child >= len(h.entries) {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, len(h.entries)); k++ {
			if h.entries[k].key.Before(h.entries[least].key) {
				least = k
			}
		}
		if !h.entries[least].key.Before(x.key) {
			break
		}
		h.put(i, h.entries[least])
		i = least
	}
	h.put(i, x)
}

func (h *heap) put(i int, x entry) {
	h.entries[i] = x
	h.at[x.slot] = int32(i)
}
