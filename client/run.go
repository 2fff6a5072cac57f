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
	c.running = true
	defer func() { c.running = false }()
	if !c.ended && metasim.Earlier(c.due(), c.timers.next()).Before(c.granted) { // it has stepped before
		c.out.advance(c.report(c.now, metasim.Later(c.timers.next(), c.now)))
	}
	for {
		if c.ended || c.refused != nil {
			return c.end()
		}
		timer := metasim.Later(c.timers.next(), c.now)
		next := metasim.Earlier(c.due(), timer)
		if !next.Before(c.granted) {
			if c.granted == c.until {
				return c.Leave(ctx)
			}
			poll := metasim.PollWait{Report: c.report(c.now, timer), Want: timer, Messages: true}
			if err := c.wait(ctx, poll); err != nil {
				return err
			}
			continue
		}
		if err := c.act(ctx, next); err != nil {
			return err
		}
	}
}

// act does all there is to do at one instant, and tells the server unless the next thing is to wait anyway.
func (c *Client) act(ctx context.Context, at metasim.Instant) error {
	c.now = at
	for c.due() == at {
		m := c.pop()
		for _, handle := range c.handlersOf(m.Channel) {
			handle(m)
			if c.ended || c.refused != nil {
				return c.end()
			}
		}
	}
	for !at.Before(c.timers.next()) {
		c.timers.pop().fire()
		if c.ended || c.refused != nil {
			return c.end()
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("client %s: at %v: %w", c.name, c.now, err)
	}
	// One report follows each instant, whatever the server has said meanwhile: what the client has promised is not to
	// depend on real time.
	if _, err := c.mayActAt(metasim.Earlier(c.due(), c.timers.next())); err != nil {
		return err
	}
	if next := metasim.Earlier(c.due(), c.timers.next()); next.Before(c.granted) { // a message may have come just now
		return c.goOn(c.report(c.now, c.timers.next()), next)
	}
	return nil
}

// end returns what Run returns of a client that has ended, or is to end.
func (c *Client) end() error {
	if c.refused != nil {
		return errors.Join(c.refused, c.Close())
	}
	if errors.Is(c.err, ErrLeft) {
		return nil
	}
	return c.err
}

// handlersOf returns the handlers for a channel, in the order of their subscriptions.
func (c *Client) handlersOf(channel string) []func(Message) {
	handlers, known := c.handlers[channel]
	if !known {
		for _, s := range c.subs {
			if s.handler != nil && metasim.MatchSubscription(s.pattern, channel) {
				handlers = append(handlers, s.handler)
			}
		}
		c.handlers[channel] = handlers
	}
	return handlers
}

// At calls f at time t, in Run. A time that has passed is refused: Run returns the error, and so it does for the other
// kinds of timer. At the present time f is called at the present instant.
func (c *Client) At(t metasim.Time, f func()) *Timer {
	at := metasim.At(t)
	if t == c.now.Time {
		at = metasim.Later(at, c.now)
	}
	return c.AtInstant(at, f)
}

// AtInstant calls f at an instant, in Run. Few need it: see At.
func (c *Client) AtInstant(at metasim.Instant, f func()) *Timer {
	if at.Before(c.now) && c.refused == nil {
		c.refused = &metasim.Violation{Rule: metasim.TimeRegress, Client: c.name, At: at, Bound: c.now}
	}
	return c.timers.set(at, 0, f)
}

// After calls f when d has passed, in Run; for 0, at the present instant after all that was set before.
func (c *Client) After(d time.Duration, f func()) *Timer {
	if d <= 0 {
		if d < 0 && c.refused == nil {
			c.refused = fmt.Errorf("client %s: After(%v) at %v: use a positive duration, or 0", c.name, d, c.now)
		}
		return c.AtInstant(c.now, f)
	}
	return c.AtInstant(metasim.At(c.now.Time.Add(metasim.Time(d))), f)
}

// Every calls f each period, in Run, for the first time after one period. A period that is not positive is refused.
func (c *Client) Every(period time.Duration, f func()) *Timer {
	if period <= 0 && c.refused == nil {
		c.refused = fmt.Errorf("client %s: Every(%v): use a positive period", c.name, period)
	}
	period = max(period, 1)
	return c.timers.set(metasim.At(c.now.Time.Add(metasim.Time(period))), metasim.Time(period), f)
}
