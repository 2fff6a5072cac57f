package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"metasim/client/internal/sched"
	"metasim/wire"
	"metasim/wire/session"
)

func (in *ownInbox) take() (*session.Inbound, error) {
	in.came.Clear()
	if in.beside != nil {
		select {
		case r := <-in.beside:
			return in.addBeside(r)
		default:
			return nil, nil
		}
	}
	if in.err != nil || !in.worthALook() {
		return nil, in.err
	}
	packets, err := in.conn.TryRead()
	if len(packets) > 0 {
		in.looks = lookOften
	}
	return in.add(packets, err)
}

// A look at a connection that has nothing is a system call for nothing. A client that found something looks again the next
// times; after some looks in vain, only now and then.
const (
	lookOften  = 4
	lookSeldom = 8
)

func (in *ownInbox) worthALook() bool {
	if in.looks > 0 {
		in.looks--
		return true
	}
	if in.passed++; in.passed < lookSeldom && !in.unread() {
		return false
	}
	in.passed = 0
	return true
}

// add takes what a read brought.
func (in *ownInbox) add(packets []wire.Packet, err error) (*session.Inbound, error) {
	in.read = time.Now()
	in.err = cmp.Or(in.came.Add(packets, &in.names), err)
	return &in.came, in.err
}

func (in *ownInbox) wait(ctx context.Context) (*session.Inbound, error) {
	in.came.Clear()
	if in.err != nil {
		return nil, in.err
	}
	if in.other(ctx) {
		done := ctx.Done()
		in.watch(ctx, func() { in.wake(done) })
	}
	if in.beside != nil || interruptible(ctx) {
		return in.waitBeside(ctx)
	}
	in.setWaiting(ctx.Done())
	if ctx.Err() != nil { // wake has either seen that it waits, or the end of the context is seen here
		in.setWaiting(nil)
		return nil, &cancelledError{context.Cause(ctx)}
	}
	packets, err := in.conn.Read()
	in.setWaiting(nil)
	if err != nil && ctx.Err() != nil {
		err = &cancelledError{context.Cause(ctx)}
	}
	return in.add(packets, err)
}

// waitBeside waits while another goroutine reads, which goes on if the wait is interrupted: the connection may be in the middle of a frame.
func (in *ownInbox) waitBeside(ctx context.Context) (*session.Inbound, error) {
	if in.beside == nil {
		in.beside = make(chan arrival, 1)
		go func(to chan<- arrival) {
			packets, err := in.conn.Read()
			to <- arrival{packets, err}
		}(in.beside)
	}
	select {
	case r := <-in.beside:
		return in.addBeside(r)
	case <-ctx.Done():
	}
	err := ended(ctx)
	if !errors.Is(err, ErrInterrupted) {
		_ = in.conn.Close() // the context says why; how the closing went is of no interest
	}
	return nil, err
}

func (in *ownInbox) addBeside(r arrival) (*session.Inbound, error) {
	in.beside = nil
	return in.add(r.packets, r.err)
}

// interruption is the key of contexts that Interruptible has made.
type interruption struct{}

// Interruptible returns a context whose end only interrupts a wait: Step, Next, Await or Run returns ErrInterrupted then, and the client is where it was.
// Nothing is lost, and simulated time has not moved. The same call, with another context, waits for the same again; no other call but Leave is
// allowed before. A Complete or a Leave that is interrupted ends the client, and so does a loop of Steps.
//
//	patience, cancel := context.WithTimeout(client.Interruptible(ctx), 50*time.Millisecond)
//	msgs, err := c.Step(patience, t)
//	cancel()
//	if errors.Is(err, client.ErrInterrupted) {
//		redraw() // and step to t again
//	}
func Interruptible(ctx context.Context) context.Context {
	return context.WithValue(ctx, interruption{}, true)
}

func interruptible(ctx context.Context) bool { return ctx.Value(interruption{}) != nil }

// ended returns the error of a wait whose context has ended.
func ended(ctx context.Context) error {
	if interruptible(ctx) {
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	}
	return &cancelledError{context.Cause(ctx)}
}

// tooLong is for how long the connection of a client that writes may go unread.
const tooLong = time.Second

func (in *ownInbox) unread() bool { return time.Since(in.read) > tooLong }

func (in *ownInbox) setWaiting(until <-chan struct{}) {
	in.mu.Lock()
	in.waiting = until
	in.mu.Unlock()
}

// wake ends a wait whose context has ended, and the connection with it: a client that does not wait for its answer
// cannot go on. The context of an earlier call may end as late as now, and then it ends no wait.
func (in *ownInbox) wake(ended <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting == ended {
		_ = in.conn.Close() // the context says why; how the closing went is of no interest
	}
}

func newSharedInbox(task *sched.Task, assisted bool) *sharedInbox {
	in := &sharedInbox{task: task, assisted: assisted, came: &session.Inbound{}, taken: &session.Inbound{}}
	in.changed.L = &in.mu
	return in
}

func (in *sharedInbox) put(packets []wire.Packet, names *session.Names) error {
	in.mu.Lock()
	err := in.came.Add(packets, names)
	in.mu.Unlock()
	in.notify(true)
	return err
}

// notify wakes the client. With packets the caller assists a scheduler afterwards.
func (in *sharedInbox) notify(packets bool) {
	if in.task != nil {
		in.task.Notify(packets && in.assisted)
		return
	}
	in.changed.Signal()
}

func (in *sharedInbox) close(err error) {
	in.mu.Lock()
	in.err = err
	in.mu.Unlock()
	in.notify(false)
}

func (in *sharedInbox) take() (*session.Inbound, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.takeLocked()
}

func (in *sharedInbox) takeLocked() (*session.Inbound, error) {
	if in.came.Empty() {
		return nil, in.err
	}
	in.taken.Clear()
	in.came, in.taken = in.taken, in.came
	return in.taken, nil
}

func (in *sharedInbox) wait(ctx context.Context) (*session.Inbound, error) {
	if in.other(ctx) {
		in.watch(ctx, in.wake)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.came.Empty() && in.err == nil {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		in.pause()
	}
	return in.takeLocked()
}

// pause waits for a notify. The caller has the lock.
func (in *sharedInbox) pause() {
	if in.task == nil {
		in.changed.Wait()
		return
	}
	in.mu.Unlock()
	in.task.Pause() // a notify that comes before it counts
	in.mu.Lock()
}

func (in *sharedInbox) wake() {
	in.mu.Lock() // the client has either not looked yet, or is notified
	defer in.mu.Unlock()
	in.notify(false)
}

func (in *sharedInbox) unread() bool { return false }

// other reports whether ctx is not the context that is watched.
func (w *contextWatch) other(ctx context.Context) bool { return ctx.Done() != w.done }

func (w *contextWatch) watch(ctx context.Context, f func()) {
	w.forget()
	w.done = ctx.Done()
	w.unwatch = context.AfterFunc(ctx, f)
}

func (w *contextWatch) forget() {
	if w.unwatch != nil {
		w.unwatch()
	}
	w.done, w.unwatch = nil, nil
}
