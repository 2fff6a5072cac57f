package session

import (
	"fmt"

	"metasim/internal/pq"
	"metasim/metasim"
)

// BeginRun begins Run: the client has handlers for messages and timers, and acts at the instants of these. If the client is
// Authorized, as it has stepped before, the caller calls Report. Then it repeats this, while the client is Running:
//
//  1. BeginInstant moves the client to the next instant. If it returns false and the client is AtEnd, the caller calls
//     Leave. If it returns false otherwise, the caller calls Wait, writes, gives what arrives to Receive until the client is
//     Answered, and begins again.
//  2. NextMessage returns the messages that are due, one by one; the caller calls their handlers. Then NextTimer returns
//     the timers, in the same way. The caller gives what a handler returns to Handled. A handler may end the client, so the
//     caller asks Running after each.
//  3. EndInstant ends the instant. If the client is not Authorized, the caller gives what has arrived to Receive, without
//     waiting. If it is Authorized, the caller calls GoOn.
//
// So one report follows each instant, whatever the server has said meanwhile: what the client promises does not depend on
// real time. EndRun ends Run.
func (c *Client) BeginRun() {
	c.running, c.timers.inRun = true, true
	c.restoreTimers()
	c.restoreStreams()
	if err := c.aim(c.runGoal()); err != nil {
		c.refuse(err)
	}
}

// Running reports whether Run goes on: the session is not over, and no timer or publish was refused.
func (c *Client) Running() bool { return c.err == nil && c.refused == nil }

// beginsInRun reports whether the client begins inside of Run, and has not come there yet: then it does not count for when a timer is set.
func (c *Client) beginsInRun() bool { return c.save.timers != nil && !c.running }

// restoreTimers sets the timers for a client that begins at a checkpoint. Each timer that was set before Run gets the time that it had at the
// checkpoint.
func (c *Client) restoreTimers() {
	saved, ts := c.save.timers, &c.timers
	if saved == nil {
		return
	}
	c.save.timers = nil
	if len(ts.before) != saved.before {
		c.refuseTimer(fmt.Errorf("%d timers were set before Run, but %d when the checkpoint at %v was made; set the same ones, in the same order",
			len(ts.before), saved.before, c.now))
		return
	}
	for _, t := range ts.before {
		if 0 <= t.index {
			ts.queue.Remove(t.index)
		}
	}
	for _, s := range saved.set {
		t := ts.before[s.number]
		t.at = s.at
		ts.push(t)
	}
}

// BeginInstant moves the client to the next instant at which it has something to do. It returns false if the client may not
// act there yet.
func (c *Client) BeginInstant() bool {
	next := c.next()
	if !next.Before(c.granted) {
		return false
	}
	c.waits = false
	c.now = next
	return true
}

// NextMessage returns the next message due at the present instant.
func (c *Client) NextMessage() (Message, bool) {
	if c.due() != c.now {
		return Message{}, false
	}
	return c.pop(), true
}

// NextTimer returns the handler of the next timer that is due; a Step may have passed its instant. A periodic timer is set
// again after its handler has run, so it comes after the timers that the handler sets for the same instant.
func (c *Client) NextTimer() (handler func() error, ok bool) {
	if t := c.fired; t != nil {
		c.fired = nil
		if t.period > 0 {
			t.at = metasim.At(t.at.Time.Add(t.period))
			c.timers.push(t)
		}
	}
	if c.now.Before(c.timers.next()) {
		return nil, false
	}
	c.fired = c.timers.pop()
	return c.fired.call, true
}

// Handled takes what a handler returned: an error ends Run with it, unless something was refused before.
func (c *Client) Handled(err error) {
	if err == nil || c.refused != nil {
		return
	}
	if c.err == nil {
		err = fmt.Errorf("at %v: %w", c.now, err)
	}
	c.refused = err
}

// EndInstant ends an instant: the next timer, or the next message if that is earlier, is the client's goal. A timer whose
// instant a Step has passed is due at the present instant.
func (c *Client) EndInstant() { c.goal = c.runGoal() }

func (c *Client) runGoal() goal {
	return goal{want: metasim.Later(c.timers.next(), c.now), messages: true, now: c.now}
}

// EndRun ends Run, and returns why it ended: what was refused first, or why the session is over; nil if the client left.
func (c *Client) EndRun() error {
	c.running = false
	switch {
	case c.refused != nil:
		return c.refused
	case c.err == ErrLeft:
		return nil
	}
	return c.err
}

// Handlers returns by their numbers, in the order of declaration and from 0, the subscriptions that match a channel. Each
// of them handles a message on it.
func (c *Client) Handlers(channel string) []int {
	var numbers []int
	for i, pattern := range c.subscriptions {
		if metasim.MatchSubscription(pattern, channel) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// At sets a timer in Run: call is called at time t. A time that has passed is refused: Run returns the error. At the
// present time it is called at the present instant.
func (c *Client) At(t metasim.Time, call func() error) *Timer {
	at := metasim.At(t)
	if t == c.now.Time {
		at = metasim.Later(at, c.now)
	}
	return c.AtInstant(at, call)
}

// AtInstant is At for an instant.
func (c *Client) AtInstant(at metasim.Instant, call func() error) *Timer {
	if at.Before(c.now) && !c.beginsInRun() {
		c.refuseTimer(&metasim.Violation{Rule: metasim.TimeRegress, Client: c.name, At: at, Bound: c.now})
	}
	return c.timers.set(at, 0, call)
}

// After sets a timer for when d has passed; for 0, at the present instant after all that were set before.
func (c *Client) After(d metasim.Time, call func() error) *Timer {
	if d <= 0 {
		if d < 0 {
			c.refuseTimer(fmt.Errorf("After(%v) at %v: use a positive duration, or 0", d, c.now))
		}
		return c.AtInstant(c.now, call)
	}
	return c.AtInstant(metasim.At(c.now.Time.Add(d)), call)
}

// Every sets a timer for each period, for the first time after one period.
func (c *Client) Every(period metasim.Time, call func() error) *Timer {
	if period <= 0 {
		c.refuseTimer(fmt.Errorf("Every(%v): use a positive period", period))
	}
	period = max(period, 1)
	return c.timers.set(metasim.At(c.now.Time.Add(period)), period, call)
}

// refuseTimer notes that a timer was refused: Run returns it, also where it was set before Run.
func (c *Client) refuseTimer(err error) {
	if c.refused == nil {
		c.refused = err
	}
}

// Stop makes the timer fire no more. Its own handler may call it.
func (t *Timer) Stop() {
	t.period = 0
	if t.index >= 0 {
		t.owner.remove(t)
	}
}

func newTimers() timers {
	return timers{queue: pq.Queue[*Timer]{
		Less: func(a, b **Timer) bool {
			if (*a).at != (*b).at {
				return (*a).at.Before((*b).at)
			}
			return (*a).number < (*b).number
		},
		Moved: func(t **Timer, index int) { (*t).index = index },
	}}
}

func (ts *timers) set(at metasim.Instant, period metasim.Time, call func() error) *Timer {
	t := &Timer{at: at, period: period, call: call, owner: ts, set: -1}
	if ts.noted && !ts.inRun {
		t.set = len(ts.before)
		ts.before = append(ts.before, t)
	}
	ts.push(t)
	return t
}

func (ts *timers) push(t *Timer) {
	t.number = ts.number
	ts.number++
	if t.set < 0 {
		ts.late++
	}
	ts.queue.Push(t)
}

func (ts *timers) pop() *Timer {
	t := ts.queue.Pop()
	if t.set < 0 {
		ts.late--
	}
	return t
}

func (ts *timers) remove(t *Timer) {
	if t.set < 0 {
		ts.late--
	}
	ts.queue.Remove(t.index)
}

// next returns the instant of the next timer, Infinity if there is none.
func (ts *timers) next() metasim.Instant {
	first := ts.queue.First()
	if first == nil {
		return metasim.Infinity
	}
	return (*first).at
}
