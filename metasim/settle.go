package metasim

import "slices"

// Settle authorizes every client that waits and may go on, given all events so far: everything due before its safe
// time is delivered, in order, and then it is authorized up to there. The effects are lent as those of Step.
func (d *Dispatcher) Settle() []Effect {
	d.effects.begin(true)
	if d.phase == epsilon && d.waking == 0 {
		// Without this barrier a client could be authorized past a message of one that is slow to start.
		d.phase, d.recap = running, true
	}
	if d.phase != running || len(d.stale)+len(d.moved) == 0 && !d.recap {
		return nil
	}
	for _, id := range d.refresh() {
		if int(id) >= len(d.clients) {
			continue // a hub
		}
		if c := &d.clients[id]; c.state != gone {
			c.safe = d.safe(c)
			d.grant(c)
			d.forest.watch(id, c.alarm(d.end))
		}
	}
	d.moved = d.moved[:0]
	d.checkReached()
	return d.effects.list
}

// refresh computes the safe times anew, and returns, in order, the clients for whom something has changed since the last
// Settle.
func (d *Dispatcher) refresh() []ClientID {
	d.consider()
	slices.Sort(d.moved)
	return slices.Compact(d.moved)
}

// consider computes the safe times anew, and returns those for whom something has changed. Settle authorizes them: until
// then they are kept in mind.
func (d *Dispatcher) consider() []ClientID {
	if d.forest == nil {
		bounds := make([]bound, len(d.out))
		for i := range bounds {
			bounds[i] = hubBound
		}
		for i := range d.clients {
			bounds[i] = d.clients[i].bound()
		}
		d.forest = newForest(bounds, d.out)
	}
	for _, id := range d.stale {
		c := &d.clients[id]
		c.stale = false
		d.forest.bounds[id] = c.bound()
	}
	known := len(d.moved)
	d.moved = append(d.moved, d.forest.update(d.stale, d.risen)...)
	d.moved = append(d.moved, d.stale...)
	if d.recap {
		d.moved, known = d.moved[:0], 0
		for i := range d.clients {
			d.moved = append(d.moved, ClientID(i))
		}
	}
	d.stale, d.risen, d.recap = d.stale[:0], d.risen[:0], false
	return d.moved[known:]
}

// safe is the instant before which nothing unknown reaches a client, as of the last Settle; no further than the run goes.
func (d *Dispatcher) safe(c *client) Instant {
	if d.forest == nil || c.state == gone {
		return c.safe
	}
	return Earlier(d.forest.safeTime(c.id), Earlier(d.end, d.permit))
}

// alarm is the least safe time from which on grant may do something for a client, unless something else happens first. It
// mirrors what grant asks.
func (c *client) alarm(end Instant) Instant {
	switch {
	case c.state == gone:
		return Infinity
	case c.waiting:
		return Earlier(end, c.need().Add(0))
	}
	return At(c.granted.Time.Add(max(1, (c.granted.Time-c.clock.Time)/2)))
}

// need is the earliest instant at which a client that waits has something to do.
func (c *client) need() Instant {
	if c.messages {
		return Earlier(c.want, c.queue.due())
	}
	return c.want
}

// upcoming is a bound before which nothing is left to happen at a client. Promises do not belong here: a client that
// sends nothing before an instant may well be given messages before it.
func (c *client) upcoming() Instant {
	switch {
	case c.state == gone:
		return Infinity
	case c.waiting:
		return Later(c.clock, c.need())
	}
	return Later(c.clock, c.woken)
}

// reaches reports whether a client that waits may go on where its safe time is safe.
func (d *Dispatcher) reaches(c *client, safe Instant) bool {
	return c.need().Before(safe) || safe == d.end
}

// grant authorizes a client that waits, if its need lies before its safe time: strictly, as a message due at the safe
// time itself may still come, and everything due at one instant belongs together. At the end of the run it authorizes
// up to there whatever the need, so that the client learns that nothing more will come.
//
// A client that computes is told ahead of its next wait, so that it need not ask, where that gives it something to go on
// with: half as much again as what it has before it.
func (d *Dispatcher) grant(c *client) {
	if !c.granted.Before(c.safe) {
		return
	}
	need := c.need()
	switch {
	case c.waiting && !need.Before(c.safe) && c.safe != d.end:
		return
	case !c.waiting:
		need = Start // it needs nothing: all of it is ahead
		if gain := c.safe.Time - c.granted.Time; gain == 0 || gain < (c.granted.Time-c.clock.Time)/2 {
			return
		}
	}
	until := c.safe
	for c.queue.due().Before(until) {
		due := c.queue.due()
		if need.Before(due) && c.ahead >= d.config.Ahead {
			// It has what it needs, and enough ahead of that: hold back the rest, whole instants only.
			if given := c.given.all(); len(given) == 0 || given[len(given)-1].due.Before(due) {
				until = due
				break
			}
		}
		c.delivered++
		m := &d.effects.deliver(c.id, c.delivered).Message
		*m = c.queue.pop()
		g := given{due: m.Due, size: len(m.Payload) + deliveryOverhead}
		c.given.push(g)
		c.ahead += g.size
	}
	if !c.granted.Before(until) {
		return
	}
	c.granted = until
	if c.waiting {
		c.woken = Earlier(need, until)
		c.waiting = false
	}
	d.effects.authorize(c.id, until, d.quietUntil(c))
}

// checkReached answers a Permit once everything before it has happened: all wait for something at it or later. At the
// end of the run there is no answer but Finish.
func (d *Dispatcher) checkReached() {
	if !d.asked || !d.permit.Before(d.end) {
		return
	}
	next := d.end
	for i := range d.clients {
		c := &d.clients[i]
		if c.state == gone {
			continue
		}
		if !c.waiting || c.need().Before(d.permit) {
			return
		}
		next = Earlier(next, c.need())
	}
	d.asked = false
	d.effects.add(&Reached{Until: d.permit, Next: next})
}
