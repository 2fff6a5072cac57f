package client

import (
	"context"
	"sync"

	"metasim/wire"
)

// An inbox holds what came for one client and was not taken yet. One goroutine takes; any may put.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	packets []wire.Packet
	taken   []wire.Packet // memory of the take before
	err     error

	done    <-chan struct{} // of the context whose end wakes a wait: simulators use one for many waits
	unwatch func() bool
}

func newInbox() *inbox {
	b := &inbox{}
	b.changed.L = &b.mu
	return b
}

func (b *inbox) put(packets []wire.Packet) {
	b.mu.Lock()
	b.packets = append(b.packets, packets...)
	b.mu.Unlock()
	b.changed.Signal()
}

func (b *inbox) close(err error) {
	b.mu.Lock()
	b.err = err
	b.mu.Unlock()
	b.changed.Signal()
}

// take returns what is there, without waiting. The slice is valid until the next take. The error comes after the last
// packets.
func (b *inbox) take() ([]wire.Packet, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.takeLocked()
}

func (b *inbox) takeLocked() ([]wire.Packet, error) {
	if len(b.packets) == 0 {
		return nil, b.err
	}
	clear(b.taken)
	b.packets, b.taken = b.taken[:0], b.packets
	return b.taken, nil
}

// wait waits until there is something to take, and takes it.
func (b *inbox) wait(ctx context.Context) ([]wire.Packet, error) {
	b.watch(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.packets) == 0 && b.err == nil {
		if ctx.Err() != nil {
			return nil, &cancelledError{context.Cause(ctx)}
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
