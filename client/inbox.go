package client

import (
	"context"
	"sync"

	"metasim/metasim"
	"metasim/wire"
)

// An inbox holds what came for one client and was not taken yet. One goroutine takes; any may put.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	came    news
	taken   news // memory of the take before
	err     error

	done    <-chan struct{} // of the context whose end wakes a wait: simulators use one for many waits
	unwatch func() bool
}

// news is what the server has said to a client, put in order as it came: what a client has of many authorizations is
// the last.
type news struct {
	any     bool // there are some
	given   []Message
	granted metasim.Instant
	rest    []wire.Body
}

// add takes in packets, of which nothing is kept but payloads, and who is introduced. It fails at a message from
// somebody unknown.
func (n *news) add(packets []wire.Packet, known *acquaintances) error {
	n.any = n.any || len(packets) > 0
	for i := range packets {
		switch body := packets[i].Body.(type) {
		case *metasim.Deliver:
			m, err := known.message(&body.Message)
			if err != nil {
				return err
			}
			n.given = append(n.given, m)
		case wire.Introduce:
			if err := known.meet(body); err != nil {
				return err
			}
		case *metasim.Authorize:
			n.granted = metasim.Later(n.granted, body.Until)
		default:
			n.rest = append(n.rest, packets[i].Keep().Body)
		}
	}
	return nil
}

// clear forgets all but the memory.
func (n *news) clear() {
	clear(n.given)
	clear(n.rest)
	*n = news{given: n.given[:0], rest: n.rest[:0]}
}

func newInbox() *inbox {
	b := &inbox{}
	b.changed.L = &b.mu
	return b
}

func (b *inbox) put(packets []wire.Packet, known *acquaintances) error {
	b.mu.Lock()
	err := b.came.add(packets, known)
	b.mu.Unlock()
	b.changed.Signal()
	return err
}

func (b *inbox) close(err error) {
	b.mu.Lock()
	b.err = err
	b.mu.Unlock()
	b.changed.Signal()
}

// take returns what is there, without waiting. It is valid until the next take. The error comes after the last news.
func (b *inbox) take() (news, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.takeLocked()
}

func (b *inbox) takeLocked() (news, error) {
	if !b.came.any {
		return news{}, b.err
	}
	b.taken.clear()
	b.came, b.taken = b.taken, b.came
	return b.taken, nil
}

// wait waits until there is something to take, and takes it.
func (b *inbox) wait(ctx context.Context) (news, error) {
	b.watch(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.came.any && b.err == nil {
		if ctx.Err() != nil {
			return news{}, &cancelledError{context.Cause(ctx)}
		}
		b.changed.Wait()
	}
	return b.takeLocked()
}

// watch has the end of a context wake who waits.
func (b *inbox) watch(ctx context.Context) {
	if ctx.Done() == b.done {
		return
	}
	b.forget()
	b.done = ctx.Done()
	b.unwatch = context.AfterFunc(ctx, func() {
		b.mu.Lock() // who waits has either not looked yet, or hears the signal
		defer b.mu.Unlock()
		b.changed.Signal()
	})
}

// forget lets the context go.
func (b *inbox) forget() {
	if b.unwatch != nil {
		b.unwatch()
	}
	b.done, b.unwatch = nil, nil
}

// A cancelledError says that a wait ended because its context did.
type cancelledError struct{ cause error }

func (e *cancelledError) Error() string { return e.cause.Error() }
func (e *cancelledError) Unwrap() error { return e.cause }
