package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"metasim/client/internal/sched"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// leave says Leave, and waits for the server's Goodbye.
func (c *Client) leave(ctx context.Context) error {
	if c.rules.Err() == nil {
		if err := c.lastResult(); err != nil {
			return err
		}
		c.out.mu.Lock()
		err := c.rules.Leave()
		c.out.mu.Unlock()
		if err == nil {
			err = c.flush()
		}
		for err == nil && c.rules.Err() == nil {
			err = c.receive(ctx)
		}
		if errors.Is(err, ErrInterrupted) {
			c.rules.Cancel(err)
		}
		if err := c.detach(); err != nil && errors.Is(c.rules.Err(), ErrLeft) {
			return err
		}
	}
	if err := c.rules.Err(); !errors.Is(err, ErrLeft) {
		return err
	}
	return nil
}

// lastResult asks for the result of a client that leaves. A client whose result cannot be told has failed.
func (c *Client) lastResult() error {
	if c.result == nil {
		return nil
	}
	err := c.rules.SetResult(c.result())
	if err != nil {
		return errors.Join(err, c.close(err))
	}
	return nil
}

var errClosed = errors.New("it was closed before it left")

// close ends the client, unless it has ended, and tells the server why.
func (c *Client) close(reason error) error {
	c.out.mu.Lock()
	c.rules.Close(reason)
	c.out.mu.Unlock()
	return c.detach()
}

// lastWords writes the packets that were kept, and a report of where the client is: a handler has panicked, and the process is about
// to end.
func (c *Client) lastWords() {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.rules.LastReport()
	_ = c.out.write(nil) // the panic goes on, and nobody takes an error
}

// detach tells the server why the client ends without leaving, and removes it from its host. It closes a host that is the
// client's own, or cannot be written any more.
func (c *Client) detach() error {
	if c.detached {
		return nil
	}
	c.detached = true
	c.in.forget()
	c.watch.threads.close()
	c.logEnd()
	err := c.tellFailure()
	c.out.host.leave(c.out.queue.Member)
	if c.own || err != nil || errors.As(c.rules.Err(), new(*session.LostError)) {
		return c.out.host.Close()
	}
	return nil
}

func (c *Client) logEnd() {
	if err := c.rules.Err(); err != nil && !errors.Is(err, ErrLeft) {
		c.log.Warn("ended", "client", c.rules.Name(), "at", c.rules.Now().String(), "why", err)
		return
	}
	c.log.Info("left", "client", c.rules.Name(), "at", c.rules.Now().String())
}

func (c *Client) tellFailure() error {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.err != nil {
		c.out.err = nil // a packet could not be encoded; if the host is broken, the next write fails too
		c.out.queue.Written()
	}
	if !c.rules.Failed() {
		return nil
	}
	return c.out.write(nil)
}

// A client that begins again goes on a step of Steps after its checkpoint, so it has to be at one.
var errBetweenSteps = errors.New("the body of Steps has stepped itself, so that the client is between two steps of the loop; let it make a checkpoint where it does not")

// save makes a checkpoint, if one is due.
func (c *Client) save() {
	if !c.rules.SaveDue() || len(c.unread) > 0 || c.loop.body { // a client that begins again is not put into the middle of a body
		return
	}
	var state []byte
	err := errBetweenSteps
	if !c.loop.on || c.rules.Now().Time == c.loop.at {
		state, err = c.state()
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if err == nil {
		err = c.rules.Save(state)
	}
	if err != nil {
		c.rules.NotSaved(err)
		c.log.Warn("no checkpoint", "client", c.rules.Name(), "at", c.rules.Now().String(), "why", err)
	}
}

// restore begins at a checkpoint, if the server says so.
func (c *Client) restore() error {
	state, ok := c.rules.Begin()
	if !ok {
		return nil
	}
	if err := c.setState(state); err != nil {
		return c.rules.Fail(fmt.Errorf("it cannot begin at its checkpoint at %v: %w; mend Restore, or leave checkpoint out of the scenario", c.rules.Now(), err))
	}
	c.restored = true
	return nil
}

// goOn reports that the client goes on. The report may wait for more packets, unless a client is known to wait for it.
func (c *Client) goOn(lap session.Work) error {
	c.watch.cut(&lap)
	c.out.mu.Lock()
	c.rules.GoOn(lap)
	err := c.out.writeSoon()
	wrote := c.out.wrote
	c.out.wrote = false
	c.out.mu.Unlock()
	if err != nil {
		return c.unwritten(err)
	}
	if wrote {
		c.watch.skip()
		if c.in.unread() {
			return c.drain()
		}
	}
	return nil
}

// wait reports that the client waits, and returns when it may act at what it is after, or the run ends before.
func (c *Client) wait(ctx context.Context, lap session.Work) error {
	if !c.rules.Waits() {
		c.watch.pause(&lap)
		c.out.mu.Lock()
		c.rules.Wait(lap)
		err := c.out.write(c.out.task)
		c.out.mu.Unlock()
		if err != nil {
			return c.unwritten(err)
		}
	}
	for !c.rules.Answered() {
		if err := c.receive(ctx); err != nil {
			return err
		}
	}
	c.watch.resume(c.out.task)
	return nil
}

// flush writes what the client has to say, in one write.
func (c *Client) flush() error {
	c.out.mu.Lock()
	err := c.out.write(nil)
	c.out.mu.Unlock()
	if err != nil {
		return c.unwritten(err)
	}
	return nil
}

// unwritten ends the client after a write has failed.
func (c *Client) unwritten(err error) error {
	if errors.As(err, new(*wire.ProtocolError)) {
		return c.rules.Fail(fmt.Errorf("at %v: %w", c.rules.Now(), err)) // nothing was sent, so the server has no say in it
	}
	// A server that ends the run says why, then closes: its reason is better than the broken pipe.
	for err = nil; err == nil; {
		err = c.receive(context.Background())
	}
	return err
}

// receive waits for something from the server, and takes it in.
func (c *Client) receive(ctx context.Context) error {
	if !c.waiting.CompareAndSwap(false, true) {
		return c.elsewhere()
	}
	came, err := c.in.wait(ctx)
	c.waiting.Store(false)
	return c.takeIn(came, err)
}

var errElsewhere = errors.New("another goroutine waits with this client; use a client in one goroutine, and give the others what they need by a channel of Go")

// elsewhere is the error of a call that comes from another goroutine than the one that waits; nil while none waits. It reads nothing that the
// other goroutine writes.
func (c *Client) elsewhere() error {
	if c.waiting.Load() {
		return named(c.rules.Name(), errElsewhere)
	}
	return nil
}

// drain takes in what has come from the server, without waiting for more.
func (c *Client) drain() error { return c.takeIn(c.in.take()) }

func (c *Client) takeIn(came *session.Inbound, err error) error {
	if came != nil {
		if over := c.rules.Receive(came); over != nil {
			return over
		}
	}
	if err == nil || errors.Is(err, ErrInterrupted) {
		return err
	}
	if cancelled := new(cancelledError); errors.As(err, &cancelled) {
		err = c.rules.Cancel(cancelled.cause)
		_ = c.detach() // no other client should wait for this one; how the closing went is of no interest
		return err
	}
	return c.rules.Lose(err)
}

// write writes what is there, in one write. With a task, whose client then waits, tasks of its scheduler share the write. The
// methods of an outbox are called with its lock.
func (o *outbox) write(task *sched.Task) error {
	packets := o.queue.Packets()
	if o.err == nil && len(packets) > 0 {
		o.wrote = true
		o.err = o.host.write(packets, task)
		o.queue.Written()
	}
	return o.err
}

// writeSoon writes what is urgent at once, and what is not when it has waited for long enough.
func (o *outbox) writeSoon() error {
	if o.queue.Urgent() {
		return o.write(nil)
	}
	if !o.queue.Keeping() {
		o.queue.Keep(o.now())
	}
	if !o.armed {
		o.arm(session.KeepFor)
	}
	return o.err
}

// now reads the queue's clock, in nanoseconds.
func (o *outbox) now() int64 {
	if o.clock.IsZero() {
		o.clock = time.Now()
	}
	return int64(time.Since(o.clock))
}

func (o *outbox) arm(d time.Duration) {
	o.armed = true
	if o.timer == nil {
		o.timer = time.AfterFunc(d, o.expire)
		return
	}
	o.timer.Reset(d)
}

// expire is the timer's, and takes the lock: it writes what has waited for long enough. A timer that was set for packets
// which have been written meanwhile serves those that came after them.
func (o *outbox) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armed = false
	if !o.queue.Keeping() {
		return
	}
	if left := o.queue.Left(o.now()); left > 0 {
		o.arm(time.Duration(left))
		return
	}
	_ = o.write(nil) // the next write returns it
}

// named adds the name of the client to an error. The error that ended the session is kept with its name: every later call
// returns that same error.
func (c *Client) named(err error) error {
	if err == nil || err != c.rules.Err() {
		return named(c.rules.Name(), err)
	}
	if c.over == nil {
		c.over = named(c.rules.Name(), err)
	}
	return c.over
}

// named adds the name of the client to an error, because a process may have many clients. Errors from the server and
// violations of rules already have the name.
func named(client string, err error) error {
	if err == nil || client == "" ||
		errors.As(err, new(*metasim.Violation)) || errors.As(err, new(*wire.RefusedError)) || errors.As(err, new(*namedError)) {
		return err
	}
	return &namedError{client, err}
}

func (e *namedError) Error() string {
	return "client " + strconv.Quote(e.client) + ": " + e.err.Error()
}

func (e *namedError) Unwrap() error { return e.err }

func (e *cancelledError) Error() string { return e.cause.Error() }
func (e *cancelledError) Unwrap() error { return e.cause }
