package client

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// Mail is how a client hears from the server. One goroutine uses it.
type mail interface {
	// take returns what has come, without waiting. It is valid until the next call. The error comes after the last news.
	take() (news, error)
	// wait waits until there is something to take, and takes it.
	wait(ctx context.Context) (news, error)
	// unread reports whether nobody has read the connection for long. Who says something must read, too: a server drops
	// a peer that asks and does not.
	unread() bool
	// forget lets the context of the last wait go.
	forget()
}

// news is what the server has said to a client, put in order as it came: what a client has of many authorizations is
// the last.
type news struct {
	any     bool // there are some
	given   []Message
	granted metasim.Instant
	quiet   metasim.Instant // of the last authorization
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
			n.quiet = body.QuietUntil
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

// ownMail is that of a client with a connection of its own: it reads it itself, when it waits, so that what comes costs
// no change of goroutine.
type ownMail struct {
	conn    wire.Prompt
	known   acquaintances
	news    news
	err     error
	read    time.Time // when it was last read
	luck    int       // how many more looks are worth while
	passed  int       // how many were not made
	context watch

	mu      sync.Mutex
	waiting bool // in a Read, which the end of the context must wake
}

func (m *ownMail) take() (news, error) {
	m.news.clear()
	if m.err != nil || !m.lucky() {
		return news{}, m.err
	}
	packets, err := m.conn.TryRead()
	if len(packets) > 0 {
		m.luck = lookOften
	}
	return m.came(packets, err)
}

// A look at a connection that has nothing is a system call for nothing. Whoever found something looks again the next
// times; after some that were in vain, only now and then.
const (
	lookOften  = 4
	lookSeldom = 8
)

func (m *ownMail) lucky() bool {
	if m.luck > 0 {
		m.luck--
		return true
	}
	if m.passed++; m.passed < lookSeldom && !m.unread() {
		return false
	}
	m.passed = 0
	return true
}

// came takes what a read brought.
func (m *ownMail) came(packets []wire.Packet, err error) (news, error) {
	m.read = time.Now()
	m.err = cmp.Or(m.news.add(packets, &m.known), err)
	return m.news, m.err
}

func (m *ownMail) wait(ctx context.Context) (news, error) {
	m.news.clear()
	if m.err != nil {
		return news{}, m.err
	}
	if m.context.other(ctx) {
		m.context.on(ctx, m.wake)
	}
	m.setWaiting(true)
	if ctx.Err() != nil { // whoever wakes has either seen that it waits, or is seen here
		m.setWaiting(false)
		return news{}, &cancelledError{context.Cause(ctx)}
	}
	packets, err := m.conn.Read()
	m.setWaiting(false)
	if err != nil && ctx.Err() != nil {
		err = &cancelledError{context.Cause(ctx)}
	}
	return m.came(packets, err)
}

// tooLong is how long a connection may go unread by who says something.
const tooLong = time.Second

func (m *ownMail) unread() bool { return time.Since(m.read) > tooLong }

func (m *ownMail) setWaiting(waits bool) {
	m.mu.Lock()
	m.waiting = waits
	m.mu.Unlock()
}

// wake ends a wait whose context has ended, and the connection with it: a client that does not wait for its answer
// cannot go on.
func (m *ownMail) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting {
		_ = m.conn.Close() // the context says why; how the closing went is of no interest
	}
}

func (m *ownMail) forget() { m.context.forget() }

// A watch calls a function when a context ends. Simulators use one context for many waits, so it is kept.
type watch struct {
	done    <-chan struct{}
	unwatch func() bool
}

// other reports whether ctx is not the context that is watched.
func (w *watch) other(ctx context.Context) bool { return ctx.Done() != w.done }

func (w *watch) on(ctx context.Context, f func()) {
	w.forget()
	w.done = ctx.Done()
	w.unwatch = context.AfterFunc(ctx, f)
}

func (w *watch) forget() {
	if w.unwatch != nil {
		w.unwatch()
	}
	w.done, w.unwatch = nil, nil
}

// A cancelledError says that a wait ended because its context did.
type cancelledError struct{ cause error }

func (e *cancelledError) Error() string { return e.cause.Error() }
func (e *cancelledError) Unwrap() error { return e.cause }

func isCancelled(err error) bool { return errors.As(err, new(*cancelledError)) }
