// Package fifo has a first-in, first-out queue that uses its memory again. It is pure: the machine may use it.
package fifo

import "metasim/internal/slab"

// A Queue grows at its end and is used up from its front. The zero value is empty. Pushing and dropping at the same pace
// allocates nothing in the long run, and the memory of a burst is returned after it.
type Queue[T any] struct {
	items []T
	head  int // how many of items are used up
	use   slab.Use
}

// least is for how many values a queue always keeps memory.
const least = 64

// Len returns how many values are in the queue.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// All returns the values, the oldest first. The slice is valid until the next Push.
func (q *Queue[T]) All() []T { return q.items[q.head:] }

// First returns the oldest value, or nil where the queue is empty. It is valid until the next Push.
func (q *Queue[T]) First() *T {
	if q.head == len(q.items) {
		return nil
	}
	return &q.items[q.head]
}

// Push adds a value at the end.
func (q *Queue[T]) Push(v T) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		// More than half of the memory is free, so that on average each value is moved once at most.
		left := q.items[q.head:]
		to := q.items
		if cap(to) > least && 8*len(left) <= cap(to) { // a burst is over
			to = make([]T, cap(to)/2)
		}
		n := copy(to, left)
		clear(to[n:])
		q.items, q.head = to[:n], 0
	}
	q.items = append(q.items, v)
}

// Pop removes and returns the oldest value. The queue must not be empty.
func (q *Queue[T]) Pop() T {
	v := q.items[q.head]
	q.Drop(1)
	return v
}

// Drop removes the n oldest values. There must be so many.
func (q *Queue[T]) Drop(n int) {
	clear(q.items[q.head : q.head+n]) // frees what the values point to
	if q.head += n; q.head == len(q.items) {
		q.items, q.head = slab.Reuse(q.items, &q.use, least), 0
	}
}
