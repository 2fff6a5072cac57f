package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"metasim/metasim"
)

// Run owns the loop: it calls handlers for messages and timers at their instants, in order, until nothing can happen
// any more or the run ends, and then leaves. At one instant the messages come first, in their order, then the timers,
// in the order in which they were set. A handler that leaves makes Run return nil; one whose publish is refused ends
// the client with that error, and so does a timer that was set to an impossible time. A timer whose time a Step or Next
// has passed is called at the present instant.
func (c *Client) Run(ctx context.Context) error {
	c.rules.BeginRun()
	err := c.run(ctx)
	if stopped := c.rules.EndRun(); err == nil && stopped != nil {
		err = stopped
		if c.rules.Err() == nil { // something was refused: the server does not know
			err = errors.Join(err, c.close())
		}
	}
	return c.named(err)
}

func (c *Client) run(ctx context.Context) error {
	if c.rules.Running() && c.rules.Authorized() {
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

// act does all there is to do at one instant, and tells the server unless the next thing is to wait anyway.
func (c *Client) act(ctx context.Context) error {
	for m, ok := c.rules.NextMessage(); ok; m, ok = c.rules.NextMessage() {
		for _, handle := range c.handlersOf(m.Channel) {
			handle(m)
			if !c.rules.Running() {
				return nil
			}
		}
	}
	for call, ok := c.rules.NextTimer(); ok; call, ok = c.rules.NextTimer() {
		call()
		if !c.rules.Running() {
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("at %v: %w", c.Now(), err)
	}
	c.rules.EndInstant()
	if !c.rules.Authorized() {
		if err := c.drain(); err != nil {
			return err
		}
	}
	if c.rules.Authorized() { // a message may have come just now
		return c.goOn(c.watch.lap(c.out.task))
	}
	return nil
}

// handlersOf returns the handlers for a channel, in the order of their subscriptions.
func (c *Client) handlersOf(channel string) []func(Message) {
	handlers, known := c.served[channel]
	if !known {
		for _, i := range c.rules.Handlers(channel) {
			if h := c.handlers[i]; h != nil {
				handlers = append(handlers, h)
			}
		}
		c.served[channel] = handlers
	}
	return handlers
}

// At calls f at time t, in Run. A time that has passed is refused: Run returns the error, and so it does for the other
// kinds of timer. At the present time f is called at the present instant.
func (c *Client) At(t metasim.Time, f func()) *Timer { return c.rules.At(t, f) }

// AtInstant calls f at an instant, in Run. Few need it: see At.
func (c *Client) AtInstant(at metasim.Instant, f func()) *Timer { return c.rules.AtInstant(at, f) }

// After calls f when d has passed, in Run; for 0, at the present instant after all that was set before.
func (c *Client) After(d time.Duration, f func()) *Timer { return c.rules.After(metasim.Time(d), f) }

// Every calls f each period, in Run, for the first time after one period. A period that is not positive is refused.
func (c *Client) Every(period time.Duration, f func()) *Timer {
	return c.rules.Every(metasim.Time(period), f)
}
