package metasim

import "math/bits"

// candidates are clients with the S that they have if nobody offers less, the least on top: a heap of four branches, as
// four neighbours share a line of the cache. One may be in it several times; all but the least are out of date.
type candidates []candidate

// A candidate is an instant, no earlier than Start, and a client in sixteen bytes, ordered by both.
type candidate struct {
	time uint64
	rest uint64 // the step, above the client
}

func newCandidate(send Instant, id ClientID) candidate {
	return candidate{uint64(send.Time), uint64(send.Step)<<32 | uint64(id)}
}

// less is 1 if c comes before d, and else 0: a number, as nobody could foretell a branch.
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

// pop removes the least, and returns who it is.
func (h *candidates) pop() ClientID {
	s := *h
	top, last := ClientID(s[0].rest), s[len(s)-1]
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

// A ranking orders some of n things by keys that may change: a heap that knows where each thing stands.
type ranking struct {
	heap []ranked
	at   []int32 // where in the heap; -1: it is not there
}

type ranked struct {
	key Instant
	who int32
}

func newRanking(n int) ranking {
	r := ranking{at: make([]int32, n)}
	r.clear()
	return r
}

func (r *ranking) clear() {
	r.heap = r.heap[:0]
	for i := range r.at {
		r.at[i] = -1
	}
}

// least is the thing with the least key; nobody, at Infinity, where there is none.
func (r *ranking) least() ranked {
	if len(r.heap) == 0 {
		return ranked{Infinity, nobody}
	}
	return r.heap[0]
}

// set puts a thing in, or changes its key.
func (r *ranking) set(who int32, key Instant) {
	i := int(r.at[who])
	if i < 0 {
		i = len(r.heap)
		r.heap = append(r.heap, ranked{})
	}
	r.sink(r.rise(i, ranked{key, who}), ranked{key, who})
}

// remove takes a thing out, if it is in.
func (r *ranking) remove(who int32) {
	i := int(r.at[who])
	if i < 0 {
		return
	}
	r.at[who] = -1
	last := r.heap[len(r.heap)-1]
	r.heap = r.heap[:len(r.heap)-1]
	if i < len(r.heap) {
		r.sink(r.rise(i, last), last)
	}
}

// rise makes room for x above i, and returns where.
func (r *ranking) rise(i int, x ranked) int {
	for i > 0 {
		parent := (i - 1) / 4
		if !x.key.Before(r.heap[parent].key) {
			break
		}
		r.put(i, r.heap[parent])
		i = parent
	}
	return i
}

// sink puts x at i, or below.
func (r *ranking) sink(i int, x ranked) {
	for {
		child := 4*i + 1
		if child >= len(r.heap) {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, len(r.heap)); k++ {
			if r.heap[k].key.Before(r.heap[least].key) {
				least = k
			}
		}
		if !r.heap[least].key.Before(x.key) {
			break
		}
		r.put(i, r.heap[least])
		i = least
	}
	r.put(i, x)
}

func (r *ranking) put(i int, x ranked) {
	r.heap[i] = x
	r.at[x.who] = int32(i)
}
