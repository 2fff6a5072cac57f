package metasim

func (d *Dispatcher) promise(ev *Promise) {
	c := d.client(ev.Client, ev.NoSendBefore)
	if c == nil {
		return
	}
	if ev.NoSendBefore.Before(c.floor) {
		d.evict(c, Violation{Rule: PromiseRegress, At: ev.NoSendBefore, Bound: c.floor})
		return
	}
	c.floor = ev.NoSendBefore
}

func (d *Dispatcher) advance(ev *Advance) {
	if c := d.client(ev.Client, ev.Now); c != nil {
		d.report(c, &ev.Report)
		c.waiting = false
	}
}

func (d *Dispatcher) pollWait(ev *PollWait) {
	c := d.client(ev.Client, ev.Now)
	if c == nil || !d.report(c, &ev.Report) {
		return
	}
	if !c.polled {
		c.polled = true
		d.waking--
	}
	c.want, c.messages = ev.Want, ev.Messages
	// Who waits does nothing before it is woken: that is a promise too. Without it two could wait for one another.
	c.next = Later(c.next, ev.Want)
	if !ev.Messages {
		c.asleep = Later(c.asleep, ev.Want)
	}
	// A poll that crossed its answer on the wire, or asks for what was granted, is answered at once.
	answered := ev.Want.Before(c.granted) || ev.Messages && c.given.len() > 0 || c.granted == d.end
	c.waiting = !answered
	if answered {
		d.effects.authorize(c.id, c.granted, d.quietUntil(c))
	}
}

// report takes what a client says of itself. It returns false when that broke a rule.
func (d *Dispatcher) report(c *client, r *Report) bool {
	floor := Later(r.NoSendBefore, r.Now)
	var v Violation
	switch {
	case r.Now.Before(c.clock):
		v = Violation{Rule: TimeRegress, At: r.Now, Bound: c.clock}
	case floor.Before(c.floor):
		v = Violation{Rule: PromiseRegress, At: floor, Bound: c.floor}
	case !c.mayActAt(r.Now):
		v = Violation{Rule: PastGrant, At: r.Now, Bound: c.granted}
	}
	if v.Rule != 0 {
		d.evict(c, v)
		return false
	}
	promised := c.promised() // others rely on it, so it holds whatever the client says now
	if !d.acknowledge(c, r.Acked) {
		return false
	}
	c.clock = r.Now
	c.floor = floor
	c.next = Later(promised, Later(floor, r.NextEvent))
	return true
}

// acknowledge forgets what the client has handled. It returns false when the number broke a rule.
func (d *Dispatcher) acknowledge(c *client, number uint64) bool {
	if number < c.acked || number > c.delivered {
		bound := c.delivered
		if number < c.acked {
			bound = c.acked
		}
		d.evict(c, Violation{Rule: UnknownDelivery, At: Instant{Time: Time(number)}, Bound: Instant{Time: Time(bound)}})
		return false
	}
	n := int(number - c.acked)
	for _, g := range c.given.all()[:n] {
		c.ahead -= g.size
	}
	c.given.drop(n)
	c.acked = number
	return true
}

// leave releases everybody from a client: it sends nothing any more, and what is on its way to it stays undelivered.
func (d *Dispatcher) leave(ev *Leave) {
	c := &d.clients[ev.Client]
	if !ev.Cut { // who is cut off says nothing that could be wrong
		if c = d.client(ev.Client, ev.Now); c == nil {
			return
		}
		if ev.Now.Before(c.clock) {
			d.evict(c, Violation{Rule: TimeRegress, At: ev.Now, Bound: c.clock})
			return
		}
		if !c.mayActAt(ev.Now) {
			d.evict(c, Violation{Rule: PastGrant, At: ev.Now, Bound: c.granted})
			return
		}
		if !d.acknowledge(c, ev.Acked) {
			return
		}
		c.clock = ev.Now
	}
	if c.state == gone {
		return
	}
	if !c.polled && d.phase == epsilon {
		d.waking--
	}
	d.touch(c)
	*c = client{
		id: c.id, name: c.name, state: gone, stale: true, pubs: c.pubs, clock: c.clock, floor: Infinity, next: Infinity,
		sends: c.sends, granted: c.granted, delivered: c.delivered, acked: c.acked, safe: c.safe,
	}
	d.left++
	if d.left == len(d.clients) {
		d.finish(nil)
	}
}
