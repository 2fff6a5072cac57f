package metasim

// promise takes an unconditional promise that a client makes while it computes.
func (d *Dispatcher) promise(ev *Promise) {
	c := d.admit(ev.Client, ev.NoSendBefore)
	if c == nil || d.broke(c, c.checkPromise(ev.NoSendBefore)) {
		return
	}
	c.floor = ev.NoSendBefore
}

// advance takes a report of a client that goes on computing.
func (d *Dispatcher) advance(ev *Advance) {
	if c := d.admit(ev.Client, ev.Now); c != nil {
		d.report(c, &ev.Report)
		c.waiting = false
	}
}

// pollWait takes a report of a client that now waits.
func (d *Dispatcher) pollWait(ev *PollWait) {
	c := d.admit(ev.Client, ev.Now)
	if c == nil || !d.report(c, &ev.Report) {
		return
	}
	if !c.polled {
		c.polled = true
		d.initializing--
	}
	c.want, c.messages = ev.Want, ev.Messages
	// A client that waits does nothing before it is woken: that is a promise too. Without it two could wait for one another.
	c.next = Later(c.next, ev.Want)
	if !ev.Messages {
		c.asleep = Later(c.asleep, ev.Want)
	}
	// A poll that crossed its answer on the wire, or asks for what was granted, is answered at once.
	answered := c.window.Answers(ev, c.granted, d.end)
	c.waiting = !answered
	if answered {
		d.effects.authorize(c.id, c.granted, d.quietUntil(c))
	}
}

// report takes what a client reports of itself. It returns false when that broke a rule.
func (d *Dispatcher) report(c *client, r *Report) bool {
	floor := Later(r.NoSendBefore, r.Now)
	promised := c.promised() // others rely on it, so it holds whatever the client reports now
	if d.broke(c, c.checkReport(r.Now, floor)) || d.broke(c, c.acknowledge(r.Acked)) {
		return false
	}
	d.releaseHandled(c)
	c.use.spent += d.memory.report
	c.clock = r.Now
	c.floor = floor
	c.next = Later(promised, Later(floor, r.NextEvent))
	return true
}

// leave handles a client that has left or was lost: it sends nothing any more, so no client waits for it, and what is on its way to
// it stays undelivered.
func (d *Dispatcher) leave(ev *Leave) {
	c := &d.clients[ev.Client]
	if !ev.Cut { // a client that was lost says nothing that could be wrong
		c = d.admit(ev.Client, ev.Now)
		if c == nil || d.broke(c, c.checkReport(ev.Now, c.floor)) || d.broke(c, c.acknowledge(ev.Acked)) {
			return
		}
		c.clock = ev.Now
	}
	if c.state == gone {
		return
	}
	if !c.polled && d.phase == epsilon {
		d.initializing--
	}
	d.releaseAll(c)
	d.touch(c)
	*c = client{
		id: c.id, name: c.name, state: gone, touched: true, pubs: c.pubs, clock: c.clock, floor: Infinity, next: Infinity,
		sends: c.sends, granted: c.granted, safe: c.safe,
		group: c.group, outside: c.outside, proxy: c.proxy,
	}
	d.left++
	if d.left == len(d.clients) {
		d.finish(nil)
	}
}
