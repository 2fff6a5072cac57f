// Package slab lends memory for values of one type. It is pure: the machine may use it.
package slab

// A Slab lends memory for values and takes all of it back at once, so that a pass which makes thousands of small values
// allocates nothing in the long run. The zero value is ready to use.
type Slab[T any] struct {
	lent []T
	use  Use
}

// leastLent is for how many values a slab always keeps memory.
const leastLent = 1 << 10

// Lend returns the memory of a zero value. It is valid until Reclaim.
func (s *Slab[T]) Lend() *T {
	if len(s.lent) == cap(s.lent) {
		// What was lent before stays where it is: only what comes now lies in the new memory.
		s.lent = make([]T, 0, max(1, 2*cap(s.lent)))
	}
	s.lent = s.lent[:len(s.lent)+1]
	return &s.lent[len(s.lent)-1]
}

// Reclaim takes back all that was lent. The memory of a burst is returned after a while.
func (s *Slab[T]) Reclaim() {
	clear(s.lent) // frees what the values point to
	s.lent = Reuse(s.lent, &s.use, leastLent)
}

// ReclaimAtMost is Reclaim for a slab that must not hold on to memory for more than n values: where there may be
// thousands of slabs, one large pass is not to cost for ever.
func (s *Slab[T]) ReclaimAtMost(n int) {
	if cap(s.lent) > n {
		s.lent = nil
		return
	}
	s.Reclaim()
}
