package bus

import (
	"sync"

	"metasim/internal/fifo"
)

// A queue holds values for one reader, up to a limit in bytes. put never waits.
type queue[T any] struct {
	ready chan struct{} // has a token when there is something to take or the queue is closed

	mu     sync.Mutex
	items  fifo.Queue[item[T]]
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

// put returns false if there is no room, or the queue is closed.
func (q *queue[T]) put(v T, size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.bytes+size > q.limit {
		return false
	}
	q.items.Push(item[T]{v, size})
	q.bytes += size
	q.wake()
	return true
}

// take appends values to batch without waiting: at least one if there is one, and about most bytes. open is false when the
// queue is closed and empty.
func (q *queue[T]) take(batch []T, most int) (taken []T, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for size := 0; q.items.Len() > 0 && (size == 0 || size < most); {
		it := q.items.Pop()
		batch = append(batch, it.value)
		size += max(it.size, 1)
		q.bytes -= it.size
	}
	if q.items.Len() > 0 || q.closed {
		q.wake()
	}
	return batch, !q.closed || len(batch) > 0
}

// close refuses further values. Those that are queued can still be taken.
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
