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
	b.context.on(ctx, b.wake)
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

func (b *inbox) wake() {
	b.mu.Lock() // who waits has either not looked yet, or hears the signal
	defer b.mu.Unlock()
	b.changed.Signal()
}

func (b *inbox) forget() { b.context.forget() }
