package client

import (
	"context"
	"sync"

	"metasim/wire"
)

// An inbox is the mail of a client whose connection somebody else reads. Any goroutine may put.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	came    news
	taken   news // memory of the take before
	err     error
	context watch

	seat     *seat // whom to notify instead of a goroutine; may be nil
	assisted bool  // whoever puts assists the crew afterwards
}

func newInbox(s *seat, assisted bool) *inbox {
	b := &inbox{seat: s, assisted: assisted}
	b.changed.L = &b.mu
	return b
}

func (b *inbox) put(packets []wire.Packet, known *acquaintances) error {
	b.mu.Lock()
	err := b.came.add(packets, known)
	b.mu.Unlock()
	b.notify(true)
	return err
}

// notify tells who waits that something has changed. Whoever brings packets assists a crew afterwards.
func (b *inbox) notify(assisted bool) {
	if b.seat != nil {
		b.seat.notify(assisted && b.assisted)
		return
	}
	b.changed.Signal()
}

func (b *inbox) close(err error) {
	b.mu.Lock()
	b.err = err
	b.mu.Unlock()
	b.notify(false)
}

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

func (b *inbox) wait(ctx context.Context) (news, error) {
	if b.context.other(ctx) {
		b.context.on(ctx, b.wake)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.came.any && b.err == nil {
		if ctx.Err() != nil {
			return news{}, &cancelledError{context.Cause(ctx)}
		}
		b.pause()
	}
	return b.takeLocked()
}

// pause waits for a notify. The caller has the lock.
func (b *inbox) pause() {
	if b.seat == nil {
		b.changed.Wait()
		return
	}
	b.mu.Unlock()
	b.seat.wait() // a notify that comes before it is kept
	b.mu.Lock()
}

func (b *inbox) wake() {
	b.mu.Lock() // who waits has either not looked yet, or is notified
	defer b.mu.Unlock()
	b.notify(false)
}

func (b *inbox) unread() bool { return false }

func (b *inbox) forget() { b.context.forget() }
