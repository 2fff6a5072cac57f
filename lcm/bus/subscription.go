package bus

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"metasim/internal/fifo"
	"metasim/metasim"
)

// ErrClosed is the error of a closed bus.
var ErrClosed = errors.New("the LCM network is closed")

// A Subscription receives the messages of its patterns, in the order in which they came.
type Subscription struct {
	patterns patterns
	queue    *queue[Message]
}

// Take returns the queued messages without waiting. Their payloads are shared with other subscriptions: do not change them.
// It fails with ErrClosed when the bus is closed and the queue is empty.
func (s *Subscription) Take() ([]Message, error) {
	got, open := s.queue.take(nil, math.MaxInt)
	if !open {
		return nil, ErrClosed
	}
	return got, nil
}

// subscriptions are those of one bus.
type subscriptions struct {
	mu     sync.Mutex
	all    []*Subscription
	closed bool
}

func (g *subscriptions) add(exprs []string, limit int) (*Subscription, error) {
	s := &Subscription{queue: newQueue[Message](limit)}
	for _, expr := range exprs {
		p, err := compile(expr)
		if err != nil {
			return nil, err
		}
		s.patterns = append(s.patterns, p)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	g.all = append(g.all, s)
	return s, nil
}

func (g *subscriptions) remove(s *Subscription) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = slices.DeleteFunc(g.all, func(t *Subscription) bool { return s == t })
}

func (g *subscriptions) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, s := range g.all {
		s.queue.close()
	}
	g.all = nil
}

// wants reports whether there is a subscription to the channel.
func (g *subscriptions) wants(channel string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.all, func(s *Subscription) bool { return s.patterns.match(channel) })
}

// deliver queues a message, whose payload does not change any more, for each subscription to its channel. It returns for how
// many of them there was no room.
func (g *subscriptions) deliver(m Message) (dropped uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.all {
		if s.patterns.match(m.Channel) && !s.queue.put(m, messageCost+len(m.Payload)) {
			dropped++
		}
	}
	return dropped
}

// messageCost is about what a queued message takes beside its payload, in bytes.
const messageCost = 128

// A pattern matches whole channel names. It caches its results, as there are few channels and many messages.
type pattern struct {
	metasim.Pattern
	seen map[string]bool
}

// patterns are those of one subscriber. Only one goroutine at a time may use them.
type patterns []*pattern

func (ps patterns) match(channel string) bool {
	return slices.ContainsFunc(ps, func(p *pattern) bool { return p.match(channel) })
}

const (
	maxPattern = 1024 // bytes
	maxSeen    = 4096
)

func compile(s string) (*pattern, error) {
	if len(s) > maxPattern {
		return nil, fmt.Errorf("a subscription of %d bytes; use at most %d", len(s), maxPattern)
	}
	p, err := metasim.CompilePattern(s)
	if err != nil {
		return nil, fmt.Errorf("the subscription %q is no regular expression: %w", s, err)
	}
	return &pattern{Pattern: p, seen: map[string]bool{}}, nil
}

func (p *pattern) match(channel string) bool {
	if p.IsName() {
		return p.Match(channel)
	}
	match, seen := p.seen[channel]
	if !seen {
		if len(p.seen) >= maxSeen {
			clear(p.seen)
		}
		match = p.Match(channel)
		p.seen[channel] = match
	}
	return match
}

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

// put adds a value of size bytes. It returns false if the queue is full or closed.
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
