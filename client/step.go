package client

import (
	"context"

	"metasim/metasim"
)

// Step advances to time t and returns, in order, all messages due at or before it that were not seen yet. It is the
// whole set: nothing due at t or earlier comes later. (HLA: time advance request.)
//
// What others send at t over a link without delay is due one step after t, and comes with the next Step. Where the run
// ends at t or before it, Step returns what was due before the end, and ErrEnd.
func (c *Client) Step(ctx context.Context, t metasim.Time) ([]Message, error) {
	target, err := c.target(t)
	if err != nil {
		return nil, err
	}
	// A client that steps wakes at its target only, so waiting for it is an unconditional promise. It holds even when the
	// run ends before it.
	c.promise = metasim.Later(c.promise, target)
	r := c.report(c.now, target)
	may, err := c.mayActAt(target)
	if err != nil {
		return nil, err
	}
	if may {
		r.Now = target
		if err := c.goOn(r, target); err != nil {
			return nil, err
		}
	} else if err := c.wait(ctx, metasim.PollWait{Report: r, Want: target}); err != nil {
		return nil, err
	}
	if !target.Before(c.granted) { // authorized to the end of the run only
		return c.popUntil(c.granted), ErrEnd
	}
	c.now = target
	return c.popUntil(target), nil
}

// Next advances to the next message that is due, or to limit if that is earlier, and returns the messages due at the
// instant it reached: none, if that is the limit. (HLA: next message request.) Where the run ends before both it
// returns ErrEnd.
func (c *Client) Next(ctx context.Context, limit metasim.Time) ([]Message, error) {
	target, err := c.target(limit)
	if err != nil {
		return nil, err
	}
	may, err := c.mayActAt(metasim.Earlier(target, c.due()))
	if err != nil {
		return nil, err
	}
	if may || c.due().Before(c.granted) {
		if err := c.goOn(c.report(c.now, target), metasim.Earlier(target, c.due())); err != nil {
			return nil, err
		}
	} else if err := c.wait(ctx, metasim.PollWait{Report: c.report(c.now, target), Want: target, Messages: true}); err != nil {
		return nil, err
	}
	next := metasim.Earlier(target, c.due())
	if !next.Before(c.granted) {
		return nil, ErrEnd
	}
	c.now = next
	return c.popUntil(next), nil
}

// target turns the time that a caller asks for into an instant, which is never before now: a client that is in the
// middle of a time and asks for that time stays where it is.
func (c *Client) target(t metasim.Time) (metasim.Instant, error) {
	if c.ended {
		return metasim.Instant{}, c.err
	}
	if t < c.now.Time {
		return metasim.Instant{}, &metasim.Violation{
			Rule: metasim.TimeRegress, Client: c.name, At: metasim.At(t), Bound: c.now,
		}
	}
	return metasim.Later(metasim.At(t), c.now), nil
}

// mayActAt reports whether the client is authorized to act at an instant: by what it knows, or by what has come meanwhile.
// The server tells what is safe before it is asked, so who has some lookahead seldom waits.
func (c *Client) mayActAt(at metasim.Instant) (bool, error) {
	if at.Before(c.granted) {
		return true, nil
	}
	err := c.drain()
	return at.Before(c.granted), err
}

// wait sends a poll with all that was put before it, and returns when the client is authorized to go on.
func (c *Client) wait(ctx context.Context, poll metasim.PollWait) error {
	if c.ended {
		return c.err
	}
	poll.CPU = c.watch.pause()
	c.out.ask(poll)
	if err := c.written(c.out.flushAndWait()); err != nil {
		return err
	}
	for !c.answered(&poll) {
		if err := c.receive(ctx); err != nil {
			return err
		}
	}
	c.watch.resume(c.out.seat)
	return nil
}

// answered reports whether the client may act at what it polled for, or knows that the run ends before it.
func (c *Client) answered(poll *metasim.PollWait) bool {
	return poll.Want.Before(c.granted) || poll.Messages && c.due().Before(c.granted) || c.granted == c.until
}
