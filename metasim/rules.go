package metasim

// The rules that a client must keep are checked here, and nowhere else; violation.go has their texts. Each check returns a
// Violation, or nil where nothing is broken.

// admit returns the client of an event, if it may speak: it has joined, the run has begun, and it has not left. Else it ends
// the run and returns nil.
func (d *Dispatcher) admit(id ClientID, at Instant) *client {
	c := &d.clients[id]
	switch {
	case c.state == gone:
		d.evict(c, &Violation{Rule: AfterLeave, At: at})
	case c.state == absent || d.phase == joining:
		d.evict(c, &Violation{Rule: NotJoined, At: at})
	default:
		d.touch(c)
		return c
	}
	return nil
}

// checkJoin: a client joins once, and before the run begins.
func (c *client) checkJoin(p phase) *Violation {
	if c.state != absent || p != joining {
		return &Violation{Rule: JoinTwice, At: c.clock}
	}
	return nil
}

// checkSend: a client sends on a channel that it declared, in order of time, at its promise or after it, and strictly before
// its authorization. pub is nil for a channel that it did not declare.
func (c *client) checkSend(ev *Send, pub *publication) *Violation {
	var rule Rule
	var bound Instant
	switch promised := c.promised(); {
	case pub == nil:
		rule = UnknownChannel
	case ev.Sent.Before(c.clock):
		rule, bound = TimeRegress, c.clock
	case ev.Sent.Before(promised):
		rule, bound = SendBeforePromise, promised
	case !c.mayActAt(ev.Sent):
		rule, bound = PastGrant, c.granted
	default:
		return nil
	}
	return &Violation{Rule: rule, Channel: ev.Channel, At: ev.Sent, Bound: bound}
}

// checkPromise: an unconditional promise never goes back.
func (c *client) checkPromise(floor Instant) *Violation {
	if floor.Before(c.floor) {
		return &Violation{Rule: PromiseRegress, At: floor, Bound: c.floor}
	}
	return nil
}

// checkReport: neither the clock nor the promise goes back, and the client has done nothing at its authorization or after it.
// floor is what the report promises.
func (c *client) checkReport(now, floor Instant) *Violation {
	if now.Before(c.clock) {
		return &Violation{Rule: TimeRegress, At: now, Bound: c.clock}
	}
	if v := c.checkPromise(floor); v != nil {
		return v
	}
	if !c.mayActAt(now) {
		return &Violation{Rule: PastGrant, At: now, Bound: c.granted}
	}
	return nil
}

// acknowledge forgets what the client has handled. The numbers of acknowledged deliveries never go back, and never run ahead of
// what was given.
func (c *client) acknowledge(number uint64) *Violation {
	if c.window.Acknowledge(number) {
		return nil
	}
	bound := c.window.Last()
	if number < c.window.Acked() {
		bound = c.window.Acked()
	}
	return &Violation{Rule: UnknownDelivery, At: Instant{Time: Time(number)}, Bound: Instant{Time: Time(bound)}}
}

// broke ends the run if a check has found a violation, and reports whether it has.
func (d *Dispatcher) broke(c *client, v *Violation) bool {
	if v != nil {
		d.evict(c, v)
	}
	return v != nil
}

// evict ends the run: what a client that breaks the rules has done to the others cannot be undone.
func (d *Dispatcher) evict(c *client, v *Violation) {
	v.Client = c.name
	d.effects.add(&Evict{Client: c.id, Err: v})
	d.finish(v)
}

func (d *Dispatcher) finish(err error) {
	d.phase = finished
	d.effects.add(&Finish{Err: err})
}

// touch notes that the bounds of a client may change, or that it may be authorized.
func (d *Dispatcher) touch(c *client) {
	if !c.touched {
		c.touched = true
		d.touched = append(d.touched, c.id.node())
	}
}
