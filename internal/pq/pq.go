// Package pq has a priority queue of values. container/heap would put each value into an interface; this one keeps them
// in one slice. It is pure: the machine may use it.
package pq

// A Queue holds values, the least first. Make one with its Less; the rest is ready to use.
//
// It is a heap of four branches: half as deep as one of two, with the children of a value side by side in memory.
type Queue[T any] struct {
	// Less reports whether a comes before b. It must be a strict order; values that neither comes before the other leave
	// in any order, so let it decide between any two where that matters.
	Less func(a, b *T) bool
	// Moved, if set, is called with each new index of a value, and with -1 when the value has left. Remove needs the index.
	Moved func(v *T, index int)

	items []T
}

// Len returns how many values are in the queue.
func (q *Queue[T]) Len() int { return len(q.items) }

// First returns the least value, or nil where the queue is empty. It is valid until the next call that changes the queue.
func (q *Queue[T]) First() *T {
	if len(q.items) == 0 {
		return nil
	}
	return &q.items[0]
}

// Push adds a value.
func (q *Queue[T]) Push(v T) {
	q.items = append(q.items, v)
	q.up(len(q.items) - 1)
}

// Pop removes and returns the least value. The queue must not be empty.
func (q *Queue[T]) Pop() T { return q.Remove(0) }

// Remove removes and returns the value at the index that Moved was called with.
func (q *Queue[T]) Remove(i int) T {
	n := len(q.items) - 1
	q.items[i], q.items[n] = q.items[n], q.items[i]
	if q.Moved != nil {
		q.Moved(&q.items[n], -1)
	}
	v := q.items[n]
	var zero T
	q.items[n] = zero // frees what the value points to
	q.items = q.items[:n]
	if i < n {
		q.down(q.up(i))
	}
	return v
}

// up moves the value at i towards the top as far as it belongs, and returns where it is then. Values are compared where
// they lie: a copy whose address is given away would be allocated.
func (q *Queue[T]) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 4
		if !q.Less(&q.items[i], &q.items[parent]) {
			break
		}
		q.items[i], q.items[parent] = q.items[parent], q.items[i]
		q.moved(i)
		i = parent
	}
	q.moved(i)
	return i
}

// down moves the value at i away from the top as far as it belongs.
func (q *Queue[T]) down(i int) {
	for {
		child := 4*i + 1
		if child >= len(q.items) {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, len(q.items)); k++ {
			if q.Less(&q.items[k], &q.items[least]) {
				least = k
			}
		}
		if !q.Less(&q.items[least], &q.items[i]) {
			break
		}
		q.items[i], q.items[least] = q.items[least], q.items[i]
		q.moved(i)
		i = least
	}
	q.moved(i)
}

func (q *Queue[T]) moved(i int) {
	if q.Moved != nil {
		q.Moved(&q.items[i], i)
	}
}
