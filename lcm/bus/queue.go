package bus

import "sync"

// A queue holds what waits for one reader, up to a limit in bytes. Who puts never waits.
type queue[T any] struct {
	ready chan struct{} // has a token when something waits or the queue is closed

	mu     sync.Mutex
	items  []item[T]
	head   int // items[:head] were taken
	bytes  int
	limit  int
	closed bool
}

type item[T any] struct {
	value T
	size  int
}

func newQueue[T any](limit int) *queue[T] {
	return &queue[T]{ready: make(chan struct{}, 1), limit: limit}
}

// put reports false where there is no room, or the queue is closed.
func (q *queue[T]) put(v T, size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.bytes+size > q.limit {
		return false
	}
	if q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, item[T]{v, size})
	q.bytes += size
	q.wake()
	return true
}

// take appends to batch what waits, at least one and up to about most bytes of it, without waiting. open is false once
// the queue is closed and empty.
func (q *queue[T]) take(batch []T, most int) (taken []T, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for size := 0; q.head < len(q.items) && (size == 0 || size < most); q.head++ {
		it := &q.items[q.head]
		batch = append(batch, it.value)
		size += max(it.size, 1)
		q.bytes -= it.size
		*it = item[T]{}
	}
	if q.head < len(q.items) || q.closed {
		q.wake()
	}
	return batch, !q.closed || len(batch) > 0
}

// close lets what waits be taken, and nothing more be put.
func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

func (q *queue[T]) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}
