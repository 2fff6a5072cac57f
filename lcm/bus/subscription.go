package bus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sync"

	"metasim/metasim"
)

// ErrClosed is the error of a closed bus or subscription.
var ErrClosed = errors.New("the LCM network is closed")

// A Subscription receives the messages of its patterns, in the order in which they came.
type Subscription struct {
	patterns []pattern
	queue    *queue[Message]
	group    *subscriptions
}

// Take returns the queued messages without waiting. Their payloads are shared with other subscriptions: do not change them.
// It fails with ErrClosed when the bus or the subscription is closed and the queue is empty.
func (s *Subscription) Take() ([]Message, error) {
	got, open := s.queue.take(nil, math.MaxInt)
	if !open {
		return nil, ErrClosed
	}
	return got, nil
}

// Receive waits for the next message. Its payload is shared with other subscriptions: do not change it. It fails with
// ErrClosed when the bus or the subscription is closed and the queue is empty, or with the error of the context.
func (s *Subscription) Receive(ctx context.Context) (Message, error) {
	var one [1]Message
	for {
		got, open := s.queue.take(one[:0], 1)
		if len(got) > 0 {
			return got[0], nil
		}
		if !open {
			return Message{}, ErrClosed
		}
		select {
		case <-s.queue.ready:
		case <-ctx.Done():
			return Message{}, ctx.Err()
		}
	}
}

// Close ends the subscription. Queued messages can still be received.
func (s *Subscription) Close() {
	s.group.remove(s)
	s.queue.close()
}

// subscriptions are those of one bus.
type subscriptions struct {
	mu     sync.Mutex
	all    []*Subscription
	closed bool
}

func (g *subscriptions) add(exprs []string, limit int) (*Subscription, error) {
	s := &Subscription{queue: newQueue[Message](limit), group: g}
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
	return slices.ContainsFunc(g.all, func(s *Subscription) bool { return s.wants(channel) })
}

// deliver queues a message, whose payload nobody changes any more, for each subscription to its channel. It returns for how
// many of them there was no room.
func (g *subscriptions) deliver(m Message) (dropped uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.all {
		if s.wants(m.Channel) && !s.queue.put(m, messageCost+len(m.Payload)) {
			dropped++
		}
	}
	return dropped
}

// wants reports whether a pattern matches. The caller holds the lock of the group.
func (s *Subscription) wants(channel string) bool {
	for i := range s.patterns {
		if s.patterns[i].match(channel) {
			return true
		}
	}
	return false
}

// messageCost is about what a queued message takes beside its payload, in bytes.
const messageCost = 128

// A pattern matches whole channel names. It caches its results, as there are few channels and many messages.
type pattern struct {
	text string
	expr *regexp.Regexp // nil: a plain name
	seen map[string]bool
}

const (
	maxPattern = 1024 // bytes
	maxSeen    = 4096
)

func compile(s string) (pattern, error) {
	if len(s) > maxPattern {
		return pattern{}, fmt.Errorf("a subscription of %d bytes; use at most %d", len(s), maxPattern)
	}
	if err := metasim.CheckSubscription(s); err != nil {
		return pattern{}, fmt.Errorf("the subscription %q is no regular expression: %w", s, err)
	}
	if regexp.QuoteMeta(s) == s {
		return pattern{text: s}, nil
	}
	expr, err := regexp.Compile("^(?:" + s + ")$")
	return pattern{text: s, expr: expr, seen: map[string]bool{}}, err
}

func (p *pattern) match(channel string) bool {
	if p.expr == nil || p.text == channel {
		return p.text == channel
	}
	match, seen := p.seen[channel]
	if !seen {
		if len(p.seen) >= maxSeen {
			clear(p.seen)
		}
		match = p.expr.MatchString(channel)
		p.seen[channel] = match
	}
	return match
}
