package metasim

import (
	"slices"

	"metasim/metasim/safetime"
)

// settle looks at each client for which something has changed since the last time, and authorizes it where that is safe.
func (d *Dispatcher) settle() {
	if d.phase == epsilon && d.initializing == 0 {
		// Without this barrier a client could be authorized past a message of one that is slow to start.
		d.phase, d.limitMoved = running, true
	}
	if d.phase != running || len(d.touched)+len(d.moved) == 0 && !d.limitMoved {
		return
	}
	d.updateSafeTimes()
	d.weigh()
	if d.store.sparse() {
		d.compact()
	}
	slices.Sort(d.moved)
	for _, node := range slices.Compact(d.moved) {
		if c := &d.clients[node]; c.state != gone {
			c.safe = d.safe(c)
			d.grant(c)
			d.forest.Watch(node, d.alarm(c))
		}
	}
	d.moved = d.moved[:0]
	d.answerPermit()
}

// updateSafeTimes computes the safe times after all events so far, and adds to moved the clients for which something has
// changed.
func (d *Dispatcher) updateSafeTimes() {
	if d.forest == nil {
		bounds := make([]safetime.Bounds, len(d.clients))
		for i := range d.clients {
			bounds[i] = d.clients[i].bounds()
		}
		d.forest = safetime.New(d.graph, bounds)
	}
	d.touchGroups()
	for _, node := range d.touched {
		c := &d.clients[node]
		c.touched = false
		d.forest.SetBounds(node, c.bounds())
	}
	d.foresee()
	d.moved = append(d.moved, d.forest.Update()...)
	d.moved = append(d.moved, d.touched...)
	if d.limitMoved {
		d.moved = d.moved[:0]
		for i := range d.clients {
			d.moved = append(d.moved, ClientID(i).node())
		}
	}
	d.touched, d.limitMoved = d.touched[:0], false
}

// safe is the instant before which nothing unknown reaches a client, as of the last Settle; no later than the end of the run
// and the permit.
func (d *Dispatcher) safe(c *client) Instant {
	if d.forest == nil || c.state == gone {
		return c.safe
	}
	if c.proxy {
		return Earlier(d.end, d.permit) // the safe time of its group is no bound of what it sends
	}
	return Earlier(d.forest.SafeTime(c.id.node()), Earlier(d.end, d.permit))
}

// reaches reports whether a client that waits may go on where its safe time is safe.
func (d *Dispatcher) reaches(c *client, safe Instant) bool {
	return c.need().Before(safe) || safe == d.end
}

// alarm is the least safe time from which on grant may do something for a client, unless something else happens first. It
// mirrors the conditions of grant.
func (d *Dispatcher) alarm(c *client) Instant {
	switch {
	case c.state == gone || c.proxy || c.use.short || !c.waiting && (c.isEar() || d.used(c)) || c.overdrawn() && c.need().Before(d.end):
		return Infinity
	case c.waiting:
		return Earlier(d.end, c.need().Add(0))
	}
	return At(c.granted.Time.Add(max(1, (c.granted.Time-c.clock.Time)/2)))
}

// grant authorizes a client that waits, if its need lies before its safe time: strictly, as a message due at the safe time
// itself may still come, and everything due at one instant belongs together. At the end of the run it authorizes up to there
// whatever the need, so that the client learns that nothing more will come.
//
// A client that computes is authorized ahead of its next wait, so that it need not ask, where that gives it enough to go on
// with: half as much again as what it has before it.
//
// A client that others hear is authorized no further than memory allows. So is the proxy of a client of a nested run, which that run lets
// go no further; the ear of a nested run is given nothing ahead of what it asks for.
func (d *Dispatcher) grant(c *client) {
	if !c.granted.Before(c.safe) {
		return
	}
	need, limit := c.need(), d.affordable(c)
	switch {
	case c.proxy && c.outside:
		need = c.granted // what it does is decided elsewhere, so it is authorized as soon as may be
	case c.waiting && !need.Before(c.safe) && (c.safe != d.end || c.proxy && (c.use.heard || c.credit != Infinity)):
		return
	case !c.waiting && c.isEar():
		return
	case !c.waiting:
		need = Start // it needs nothing: all of it is ahead
		if gain := limit.Time - c.granted.Time; gain == 0 || gain < (c.granted.Time-c.reached().Time)/2 {
			return
		}
	}
	until := d.deliver(c, need, limit)
	if !c.granted.Before(until) {
		return
	}
	c.granted = until
	d.authorized(c, limit)
	if c.waiting {
		c.woken = Earlier(need, until)
		c.waiting = false
	}
	d.effects.authorize(c.id, until, d.quietUntil(c))
}

// deliver gives a client the messages that are due before a limit. It returns the instant before which it gave all: the limit, or an
// earlier instant if the client has what it needs and as many bytes more as it may have.
func (d *Dispatcher) deliver(c *client, need, limit Instant) (until Instant) {
	for c.queue.due().Before(limit) {
		due := c.queue.due()
		if need.Before(due) && c.window.Size() >= c.ahead && !c.window.split(due) {
			return due // hold back the rest, but never a part of what is due at one instant
		}
		e := d.effects.deliver(c.id)
		var place uint32
		e.Message, place = c.queue.pop()
		c.given.Push(place)
		e.Number = c.window.Give(due, len(e.Message.Payload))
	}
	return limit
}

// quietUntil returns the latest instant such that no report of the client lets a waiting client go on, as long as the client
// may still send at that instant.
func (d *Dispatcher) quietUntil(c *client) Instant {
	if len(d.memory.short) > 0 {
		return Start // a report says what was handled, and that frees memory
	}
	return d.graph.QuietUntil(c.id.node(), func(node safetime.Node) Instant {
		if to := &d.clients[node]; to.waiting && to.state != gone {
			return to.need()
		}
		return Infinity
	})
}

// answerPermit answers a Permit once everything before it has happened: all clients wait for something at it or later. At the
// end of the run there is no answer but Finish.
func (d *Dispatcher) answerPermit() {
	if !d.permitAsked || !d.permit.Before(d.end) {
		return
	}
	next := d.end
	for i := range d.clients {
		c := &d.clients[i]
		if c.state == gone {
			continue
		}
		if c.proxy {
			if c.upcoming().Before(d.permit) {
				return
			}
			next = Earlier(next, c.upcoming())
			continue
		}
		if !c.waiting || c.need().Before(d.permit) {
			return
		}
		next = Earlier(next, c.need())
	}
	d.permitAsked = false
	d.effects.add(&Reached{Until: d.permit, Next: next})
}
