package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"metasim/metasim"
	"metasim/wire/session"
)

// Name returns what the client is called in its scenario. That differs from the name under which it joins if the scenario is inside of another
// one; then it is there once the run has begun.
func (c *Client) Name() string { return c.rules.Name() }

// Is reports whether a message that names a recipient means this client: by its Name or, from a client of a scenario around its own, by the
// longer name that it has there.
func (c *Client) Is(name string) bool { return c.rules.Is(name) }

// About returns what the client was told of the run and of its part in it. A server before version 2.4 of the protocol tells
// the name of the scenario and the seed alone.
func (c *Client) About() About {
	told := c.rules.Told()
	return About{
		Scenario: told.Scenario, Seed: told.Seed, Entry: told.About.Entry, Index: int(told.About.Index), Count: int(told.About.Count),
		With: json.RawMessage(told.About.With), Directory: told.About.Directory,
	}
}

// Rand returns a generator of random numbers that only this client has, and that is the same in each run with the same
// seed: it is keyed by the seed of the run, the name of the client and the name of the stream. What is drawn for one purpose from a stream of its
// own does not change when something else draws more or less. Call it again for the same name: the stream goes on.
//
// Clients in C, C++ and Python have the same streams, as far as Uint64 and Float64 go.
func (c *Client) Rand(stream string) *rand.Rand { return c.rules.Rand(stream) }

// Now returns the instant of what the client did last: what it publishes carries it.
func (c *Client) Now() metasim.Instant { return c.rules.Now() }

// Given returns the instant before which the client was given all messages. For an input that a Step gives one of several messages, this is the
// instant at which that message arrived, and in Run it is the present one: others of the same instant may follow.
func (c *Client) Given() metasim.Instant {
	switch {
	case c.giving != metasim.Start:
		return c.giving
	case c.rules.InRun():
		return c.Now()
	}
	return c.Now().Add(0) // a step later
}

// Until returns the end of the run: nothing happens at it or later. ends is false for a run that has no end of its own: it
// lasts until every client has left.
func (c *Client) Until() (end metasim.Instant, ends bool) {
	end = c.rules.Until()
	return end, end != metasim.Infinity
}

// Step advances to time t and returns, in order, all messages due at or before it that were not seen yet. It is the
// whole set: nothing due at t or earlier comes later. (HLA: time advance request.)
//
// What others send at t over a link without delay is due one step after t, and comes with the next Step. Where the run
// ends at t or before it, Step returns what was due before the end, and ErrEnd: the run goes its way, and nothing has failed.
// All that is left to do is Leave. Steps is a loop of Steps that does so.
func (c *Client) Step(ctx context.Context, t metasim.Time) ([]Message, error) {
	if err := c.elsewhere(); err != nil {
		return nil, err
	}
	c.save()
	return c.advance(ctx, c.rules.BeginStep(t))
}

// Steps is a loop of steps: it yields the present time and each time dt later, with what Step returns there.
//
//	for t, msgs := range c.Steps(ctx, dt) {
//		...
//	}
//	return c.Leave(ctx)
//
// The loop ends where the run does, and where its body leaves. In a run without an end it goes on until its body breaks or
// leaves. If a step fails because the server refused it or ctx was cancelled, the loop and the client end, and Leave returns
// the cause. What is due after the last step and before the end of the run is not yielded: call Step to see it.
//
// A body may step itself; the loop goes on with its next step that has not passed. A checkpoint is made between two bodies, where the client is
// at a step of the loop.
func (c *Client) Steps(ctx context.Context, dt time.Duration) iter.Seq2[metasim.Time, []Message] {
	return func(yield func(metasim.Time, []Message) bool) {
		if dt <= 0 {
			_ = c.close(fmt.Errorf("Steps(%v): use a positive step", dt)) // Leave returns it
			return
		}
		step := metasim.Time(dt)
		first := c.Now().Time
		if c.restored { // it was there before
			first = first.Add(step)
		}
		c.loop = loop{on: true, body: true}
		inBody := false
		defer func() {
			c.loop = loop{}
			if inBody { // it has panicked
				c.lastWords()
			}
		}()
		for t := first; ; t = t.Add(step) {
			if behind := c.Now().Time - t; behind > 0 { // the body has stepped itself
				t = t.Add((behind + step - 1) / step * step)
			}
			msgs, err := c.Step(ctx, t)
			c.loop.at, c.loop.body = t, true
			if err != nil {
				if !errors.Is(err, ErrEnd) {
					_ = c.close(err) // Leave returns it
				}
				return
			}
			inBody = true
			goesOn := yield(t, msgs)
			if inBody = false; !goesOn {
				return
			}
			c.loop.body = false
		}
	}
}

// Next advances to the next message that is due, or to limit if that is earlier, and returns the messages due at the
// instant it reached: none, if that is the limit. (HLA: next message request.) Where the run ends before both it
// returns ErrEnd.
func (c *Client) Next(ctx context.Context, limit metasim.Time) ([]Message, error) {
	if err := c.elsewhere(); err != nil {
		return nil, err
	}
	if len(c.unread) > 0 && c.rules.Err() == nil && !c.rules.InRun() && !c.rules.Waits() {
		msgs := c.unread
		c.unread = nil
		return msgs, nil
	}
	c.save()
	return c.advance(ctx, c.rules.BeginNext(limit))
}

// Await advances from message to message until done reports true, or to limit if that is earlier. Inputs are given what arrives
// meanwhile. The next Step returns the other messages too, before those that come later; a Next returns them alone, without
// advancing; Run calls their handlers first. Where the run ends before, Await returns ErrEnd.
func (c *Client) Await(ctx context.Context, limit metasim.Time, done func() bool) error {
	if err := c.elsewhere(); err != nil {
		return err
	}
	for !done() {
		msgs, err := c.advance(ctx, c.rules.BeginAwait(limit))
		if len(msgs) > 0 {
			c.unread = msgs
		}
		if err != nil || c.Now().Time >= limit {
			return err
		}
	}
	return nil
}

// advance does what has been begun, unless that failed. It returns what is unread, and then what came; unless the client has arrived, both stay.
func (c *Client) advance(ctx context.Context, err error) ([]Message, error) {
	c.restored = false
	if err == nil {
		err = c.proceed(ctx)
	}
	if err != nil {
		return nil, c.named(err)
	}
	msgs, err := c.rules.Arrive()
	if len(c.inputs) > 0 {
		msgs, err = c.give(msgs, err)
	}
	if len(c.unread) > 0 {
		msgs, c.unread = append(c.unread, msgs...), nil
	}
	return msgs, c.named(err)
}

// proceed returns when the client may act at what it is after, or the run ends before.
func (c *Client) proceed(ctx context.Context) error {
	lap := c.watch.lap(c.out.task)
	if c.rules.Waits() {
		return c.wait(ctx, lap)
	}
	if !c.rules.Authorized() {
		if err := c.drain(ctx); err != nil {
			return err
		}
	}
	if c.rules.Authorized() {
		if err := c.goOn(lap); err != nil || c.rules.Authorized() {
			return err
		}
		lap = session.Work{} // it came back to another server meanwhile, and has to ask that
	}
	return c.wait(ctx, lap)
}

// Promise promises that the client sends nothing before t, whatever is delivered to it, so that other clients need not wait
// for it. It is written at once. A promise that takes an earlier one back is refused.
func (c *Client) Promise(t metasim.Time) error {
	err := c.PromiseThenWait(t)
	if err == nil {
		err = c.named(c.flush())
	}
	return err
}

// PromiseThenWait is Promise for a client that waits next, with a Next or a Step: the promise, what was published before, and the wait
// travel together, so that the server is woken once.
func (c *Client) PromiseThenWait(t metasim.Time) error {
	if err := c.elsewhere(); err != nil {
		return err
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.named(c.rules.Promise(t))
}

// SetResult says what the run's result shows for this client: v as JSON, sent when it leaves.
func (c *Client) SetResult(v any) error { return c.named(c.rules.SetResult(v)) }

// OnLeave has f asked for the result when the client leaves: by Leave, or by Run at its end. It takes the place of what
// SetResult has set. A result that cannot be JSON fails the client.
func (c *Client) OnLeave(f func() any) { c.result = f }

// Leave ends the client's part, and releases it from all it promised: no other client waits for it any more. It returns when
// the server has everything that the client sent. Leaving twice is no error.
func (c *Client) Leave(ctx context.Context) error {
	if err := c.elsewhere(); err != nil {
		return err
	}
	return c.named(c.leave(ctx))
}

// Close ends the client's part without a Leave: it counts as crashed, and the run fails. After a Leave it does nothing. A
// client that defers it tells the server how far it came, also when it panics. (os.Exit runs no deferred calls.)
func (c *Client) Close() error { return c.Fail(errClosed) }

// Fail is Close that says why: the run's outcome has the reason. It returns what went wrong when it said so, mostly nil: so who returns that returns the reason beside it.
//
//	return errors.Join(err, c.Fail(err))
func (c *Client) Fail(reason error) error { return c.named(c.close(reason)) }

// InRun reports whether Run goes on: then the caller is one of its handlers or timers.
func (c *Client) InRun() bool { return c.rules.InRun() }

// Run owns the loop: it calls handlers for messages and timers at their instants, in order, until nothing can happen
// any more or the run ends, and then leaves. At one instant the messages come first, in their order, then the timers,
// in the order in which they were set. A handler that leaves makes Run return nil. An error that a handler returns ends the
// client: the run fails with it, and Run returns it. So does a publish that is refused, also where the handler drops its
// error, and a timer that was set to an impossible time. A timer whose time a Step or Next has passed is called at the
// present instant.
func (c *Client) Run(ctx context.Context) error {
	if err := c.elsewhere(); err != nil {
		return err
	}
	if c.rules.InRun() {
		return c.named(c.rules.InHandler())
	}
	c.rules.BeginRun()
	returned := false
	defer func() {
		if !returned {
			c.lastWords()
		}
	}()
	err := c.run(ctx)
	returned = true
	if stopped := c.rules.EndRun(); err == nil && stopped != nil {
		err = stopped
		if c.rules.Err() == nil { // something was refused: the server does not know
			err = errors.Join(err, c.close(stopped))
		}
	}
	return c.named(err)
}

func (c *Client) run(ctx context.Context) error {
	if len(c.unread) > 0 {
		c.handleUnread() // before the report: they may send now, and set timers
	}
	if c.rules.Running() && c.rules.Authorized() && !c.rules.Waits() {
		c.out.mu.Lock()
		c.rules.Report(c.watch.lap(c.out.task))
		c.out.mu.Unlock()
	}
	for c.rules.Running() {
		var err error
		switch {
		case c.rules.BeginInstant():
			err = c.act(ctx)
		case c.rules.AtEnd():
			return c.leave(ctx)
		default:
			err = c.wait(ctx, c.watch.lap(c.out.task))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handleUnread calls the handlers of what came during an Await.
func (c *Client) handleUnread() {
	for len(c.unread) > 0 && c.rules.Running() {
		m := c.unread[0]
		c.unread = c.unread[1:]
		c.handle(m, c.routeOf(m.Channel).handle)
	}
	if c.rules.Running() {
		c.rules.EndInstant()
	}
}

// handle calls handlers for a message. It reports whether Run goes on.
func (c *Client) handle(m Message, handlers []func(Message) error) bool {
	for _, handle := range handlers {
		c.rules.Handled(handle(m))
		if !c.rules.Running() {
			return false
		}
	}
	return true
}

// act does all there is to do at one instant, and tells the server unless the next thing is to wait anyway.
func (c *Client) act(ctx context.Context) error {
	for m, ok := c.rules.NextMessage(); ok; m, ok = c.rules.NextMessage() {
		r := c.routeOf(m.Channel)
		if !c.handle(m, r.take) || !c.handle(m, r.handle) {
			return nil
		}
	}
	for call, ok := c.rules.NextTimer(); ok; call, ok = c.rules.NextTimer() {
		c.rules.Handled(call())
		if !c.rules.Running() {
			return nil
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("at %v: %w", c.Now(), ended(ctx))
	}
	c.save()
	c.rules.EndInstant()
	if !c.rules.Authorized() {
		if err := c.drain(ctx); err != nil {
			return err
		}
	}
	if c.rules.Authorized() { // a message may have come just now
		return c.goOn(c.watch.lap(c.out.task))
	}
	return nil
}

// At calls f at time t, in Run, which ends with an error that f returns. A time that has passed is refused: Run returns the
// error, and so it does for the other kinds of timer. At the present time f is called at the present instant.
func (c *Client) At(t metasim.Time, f func() error) *Timer { return c.rules.At(t, f) }

// AtInstant calls f at an instant, in Run. Few need it: see At.
func (c *Client) AtInstant(at metasim.Instant, f func() error) *Timer {
	return c.rules.AtInstant(at, f)
}

// After calls f when d has passed, in Run; for 0, at the present instant after all that was set before.
func (c *Client) After(d time.Duration, f func() error) *Timer {
	return c.rules.After(metasim.Time(d), f)
}

// Every calls f each period, in Run, for the first time after one period. A period that is not positive is refused.
func (c *Client) Every(period time.Duration, f func() error) *Timer {
	return c.rules.Every(metasim.Time(period), f)
}
