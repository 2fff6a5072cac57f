package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// ErrEnd is returned when the run ends before the instant that a client is to reach.
var ErrEnd = errors.New("the run ends before this instant")

var errInterrupted = errors.New("a wait was interrupted, and this is another one; call the same as then, or leave")

var errInHandler = errors.New("a handler of Run cannot step, nor run; set a timer, or return and wait for the next message")

// BeginStep makes time t the client's goal. (HLA: time advance request.) A client that steps wakes only at t, so this is
// also an unconditional promise. The promise holds even if the run ends before t. A time that has passed is a
// *metasim.Violation.
//
// After BeginStep or BeginNext the caller does this:
//
//  1. If the client is not Authorized, it gives what has arrived to Receive, without waiting.
//  2. If the client is Authorized, it calls GoOn.
//  3. Otherwise it calls Wait, writes, and gives what arrives to Receive until the client is Answered.
//  4. It calls Arrive.
func (c *Client) BeginStep(t metasim.Time) error {
	c.restoreStreams()
	target, err := c.target(t)
	if err == nil {
		err = c.aim(goal{want: target, now: target})
	}
	if err == nil {
		c.promise = metasim.Later(c.promise, target)
		if c.period > 0 { // whether it waits or goes on, it promises the same
			c.promise = metasim.Later(c.promise, c.tick(target, true))
		}
	}
	return err
}

// BeginNext makes the next message, or limit if that is earlier, the client's goal. (HLA: next message request.)
func (c *Client) BeginNext(limit metasim.Time) error { return c.beginNext(limit, false) }

// BeginAwait is BeginNext for a caller that keeps what comes and advances again. When it is interrupted, only BeginAwait goes on with it: the
// handlers of what was kept may do nothing before the client has come to its goal.
func (c *Client) BeginAwait(limit metasim.Time) error { return c.beginNext(limit, true) }

func (c *Client) beginNext(limit metasim.Time, keeps bool) error {
	c.restoreStreams()
	target, err := c.target(limit)
	if err != nil {
		return err
	}
	return c.aim(goal{want: target, messages: true, keeps: keeps, now: c.now})
}

// aim sets the goal. The server has been told of the goal of a wait that was interrupted: the client does not act before it has come there.
func (c *Client) aim(g goal) error {
	if c.waits && g != c.goal {
		return fmt.Errorf("at %v: %w", c.now, errInterrupted)
	}
	c.goal = g
	return nil
}

// target turns the time that a caller asks for into an instant. The instant is never before now: if a client is at a later
// step of the time that it asks for, it stays there.
func (c *Client) target(t metasim.Time) (metasim.Instant, error) {
	if c.err != nil {
		return metasim.Instant{}, c.err
	}
	if c.running {
		return metasim.Instant{}, c.InHandler()
	}
	if t < c.now.Time {
		return metasim.Instant{}, &metasim.Violation{Rule: metasim.TimeRegress, Client: c.name, At: metasim.At(t), Bound: c.now}
	}
	return metasim.Later(metasim.At(t), c.now), nil
}

// InRun reports whether Run goes on: who calls is a handler.
func (c *Client) InRun() bool { return c.running }

// InHandler is the error of a handler that would wait. It ends Run.
func (c *Client) InHandler() error { return c.refuse(fmt.Errorf("at %v: %w", c.now, errInHandler)) }

// Authorized reports whether the client may act at its goal. The server says what is safe before it is asked, so a client
// that has some lookahead seldom waits.
func (c *Client) Authorized() bool { return c.next().Before(c.granted) }

// next is the instant of the goal.
func (c *Client) next() metasim.Instant {
	if c.goal.messages {
		return metasim.Earlier(c.goal.want, c.due())
	}
	return c.goal.want
}

// Work is what a client has measured since its last report, as in metasim.Report. The zero value: it measures nothing.
type Work struct{ Computed, CPU, CoreWait int64 }

// GoOn puts the report of a client that is Authorized. It makes the Outbound urgent if the report may help another client.
func (c *Client) GoOn(w Work) {
	c.Report(w)
	if Helps(c.next(), c.quiet) {
		c.quiet = metasim.Infinity // once is enough
		c.out.urgent = true
	}
}

// Report is GoOn for a client that reports again at the same instant. Its report is never urgent.
func (c *Client) Report(w Work) {
	r := c.report(c.goal.now, c.goal.want)
	r.Computed, r.CPU, r.CoreWait = w.Computed, w.CPU, w.CoreWait
	c.out.advance(r)
}

// Waits reports whether the client has said that it waits for its goal, and has not come there: its wait was interrupted. Then it says nothing
// more before it is Answered, and the caller calls neither GoOn nor Wait.
func (c *Client) Waits() bool { return c.waits }

// Wait puts the report of a client that waits until it is Answered.
func (c *Client) Wait(w Work) {
	c.waits = true
	if m := c.memory; m != nil && !m.waited {
		m.waited, m.initial = true, m.sent()
	}
	poll := c.out.ask()
	poll.Report = c.report(c.now, c.goal.want)
	poll.Computed, poll.CPU, poll.CoreWait = w.Computed, w.CPU, w.CoreWait
	poll.Want, poll.Messages = c.goal.want, c.goal.messages
}

// Answered reports whether the client may act at its goal, or the run ends before it.
func (c *Client) Answered() bool { return c.Authorized() || c.AtEnd() }

// AtEnd reports whether the server has delivered everything: the client is authorized to the end of the run.
func (c *Client) AtEnd() bool { return c.granted == c.until }

// Arrive moves a client that is Authorized or Answered to its goal, and returns the messages that it handles there, in
// order: for a Step all that are due at its time or before, for a Next those of the instant that it has reached. If the run
// ends before the goal, Arrive fails with ErrEnd, and for a Step returns what was due before the end.
func (c *Client) Arrive() ([]Message, error) {
	c.waits = false
	next := c.next()
	if next.Before(c.granted) {
		c.now = next
		return c.popUntil(next), nil
	}
	if c.goal.messages {
		return nil, ErrEnd
	}
	return c.popUntil(c.granted), ErrEnd
}

// popUntil takes all messages due at or before i.
func (c *Client) popUntil(i metasim.Instant) []Message {
	all := c.given.All()
	n := 0 // counted first, as the caller keeps the slice
	for n < len(all) && !i.Before(all[n].Due) {
		n++
	}
	if n == 0 {
		return nil
	}
	msgs := make([]Message, n)
	for k := range msgs {
		msgs[k] = c.pop()
	}
	return msgs
}

// due returns when the next message that the client has is due.
func (c *Client) due() metasim.Instant {
	if m := c.given.First(); m != nil {
		return m.Due
	}
	return metasim.Infinity
}

// pop takes the next message: it counts as handled.
func (c *Client) pop() Message {
	m := c.given.Pop()
	c.handled++
	if c.memory != nil {
		c.memory.took(c.handled, &m)
	}
	c.reported.cause = metasim.Earlier(c.reported.cause, m.Due)
	return m
}

// report makes the client's report, without the times: next is its next event.
func (c *Client) report(now, next metasim.Instant) metasim.Report {
	if c.period > 0 {
		c.promise = metasim.Later(c.promise, c.tick(now, !now.Before(next)))
	}
	now = metasim.Later(now, c.said)
	floor := metasim.Later(now, c.promise)
	next = metasim.Later(floor, next)
	// What was promised binds whatever is said now: an answer that its reaction time forbids is not sent from a timer.
	c.reported = reported{next: metasim.Later(c.promised(), next), cause: metasim.Infinity}
	return metasim.Report{Now: now, NoSendBefore: floor, NextEvent: c.reported.next, Acked: c.handled}
}

// tick returns the first instant, from now on, at which a client with a period may send. At a tick that is now, if it acts there.
func (c *Client) tick(now metasim.Instant, acts bool) metasim.Instant {
	past := now.Time % c.period
	if past == 0 && acts {
		return now
	}
	return metasim.At(now.Time.Add(c.period - past))
}

// promised returns the first instant at which the client may send.
func (c *Client) promised() metasim.Instant {
	return metasim.SendBound(c.promise, c.reported.next, c.reported.cause, c.reaction)
}

// Publish sends a copy of payload on a channel at the client's present instant. It leaves with the next report.
//
// What the client has promised not to send is a *metasim.Violation, what is too large a *wire.ProtocolError, and nothing
// is sent. The client may go on, except in Run.
func (c *Client) Publish(channel string, payload []byte) error {
	if err := c.checkPublish(channel, payload); err != nil {
		return err
	}
	c.out.send(channel, c.now, c.out.copy(payload))
	if c.memory != nil {
		c.memory.published(channel, c.now, bytes.Clone(payload))
	}
	return nil
}

// PublishOwned is Publish without the copy: nobody may change the payload afterwards. If it fails, the caller has it back.
func (c *Client) PublishOwned(channel string, payload []byte) error {
	if err := c.checkPublish(channel, payload); err != nil {
		return err
	}
	c.out.send(channel, c.now, payload)
	if c.memory != nil {
		c.memory.published(channel, c.now, payload)
	}
	return nil
}

func (c *Client) checkPublish(channel string, payload []byte) error {
	if c.err != nil {
		return c.err
	}
	bound := c.promised()
	if c.period > 0 {
		bound = metasim.Later(bound, c.tick(c.now, true))
	}
	if c.now.Before(bound) {
		return c.refuse(c.tooEarly(channel, bound))
	}
	if err := wire.CheckSend(channel, payload, c.now); err != nil {
		return c.refuse(fmt.Errorf("at %v: %w", c.now, err))
	}
	return nil
}

// tooEarly is the error of a publish before an instant, the bound, that the client has promised to wait for. It says by what it has promised that, where that
// is seldom seen at once.
func (c *Client) tooEarly(channel string, bound metasim.Instant) error {
	v := &metasim.Violation{Rule: metasim.SendBeforePromise, Client: c.name, Channel: channel, At: c.now, Bound: bound}
	switch {
	case c.period > 0 && bound == c.tick(c.now, true):
		return fmt.Errorf("%w; it has promised to send only at multiples of %v (SendsOnlyEvery)", v, c.period)
	case c.reaction > 0 && c.promise.Before(bound):
		return fmt.Errorf("%w; it has promised to answer messages after its Reaction of %v: send in a timer (After)", v, c.reaction)
	}
	return v
}

// refuse notes that a publish was refused, for Run.
func (c *Client) refuse(err error) error {
	if c.running && c.refused == nil {
		c.refused = err
	}
	return err
}

// Promise promises that the client sends nothing before t, whatever messages it receives. A promise that takes an earlier
// one back is a *metasim.Violation.
func (c *Client) Promise(t metasim.Time) error {
	if c.err != nil {
		return c.err
	}
	i := metasim.At(t)
	if t == c.now.Time {
		i = metasim.Later(i, c.now) // as everywhere: the present time is the present instant
	}
	if bound := metasim.Later(c.promise, c.now); i.Before(bound) {
		return &metasim.Violation{Rule: metasim.PromiseRegress, Client: c.name, At: i, Bound: bound}
	}
	c.promise = i
	c.out.put(&metasim.Promise{NoSendBefore: i})
	c.out.urgent = true
	return nil
}

// SetResult says what the run's result shows for this client: v as JSON. It travels with Leave.
func (c *Client) SetResult(v any) error {
	if c.err != nil {
		return c.err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if err := wire.Check(wire.Packet{Body: &metasim.Leave{Result: b}}); err != nil {
		return err
	}
	c.result = b
	return nil
}

// Leave releases the client from all it promised. The session is over when the server's Goodbye has come: until then the
// caller gives what arrives to Receive.
func (c *Client) Leave() error {
	if c.err != nil {
		return c.err
	}
	c.out.put(&metasim.Leave{Now: metasim.Later(c.now, c.said), Acked: c.handled, Result: c.result})
	c.out.urgent = true
	return nil
}
