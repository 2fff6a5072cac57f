package metasim

import "fmt"

// send takes one publish: checks it against everything the client has said, and queues it for each subscriber.
func (d *Dispatcher) send(ev *Send) {
	c := d.client(ev.Client, ev.Sent)
	if c == nil {
		return
	}
	pub := c.publication(ev.Channel)
	if v, broken := c.checkSend(ev, pub); broken {
		d.evict(c, v)
		return
	}
	c.clock = Later(c.clock, ev.Sent)
	c.floor = Later(c.floor, ev.Sent) // sends never go back in time: each is a promise
	m := Message{From: c.id, Seq: c.sends, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload}
	c.sends++
	if pub.common != nil {
		for _, to := range pub.common.to {
			if !d.transmit(to, pub.common.model, 0, m) {
				return
			}
		}
	}
	for i := range pub.links {
		l := &pub.links[i]
		l.count++
		if !d.transmit(l.to, l.model, l.count-1, m) {
			return
		}
		if f := d.forest; f != nil && f.mayRise(m.From, l.to, l.model) {
			d.risen = append(d.risen, l.to) // a link that keeps the order has just delivered later
		}
	}
}

// promised is the instant before which a client sends nothing, by all that it has said. A conditional promise binds
// too: before its next event a client sends only in answer to something that it was given, and not sooner than its
// reaction time allows.
func (c *client) promised() Instant {
	answer := Infinity
	if c.given.len() > 0 {
		answer = c.given.all()[0].due.React(c.reaction)
	}
	return Later(Later(c.floor, c.asleep), Earlier(c.next, answer))
}

// checkSend names the rule that a send breaks, if any.
func (c *client) checkSend(ev *Send, pub *publication) (Violation, bool) {
	v := Violation{Channel: ev.Channel, At: ev.Sent}
	switch promised := c.promised(); {
	case pub == nil:
		v.Rule = UnknownChannel
	case ev.Sent.Before(c.clock):
		v.Rule, v.Bound = TimeRegress, c.clock
	case ev.Sent.Before(promised):
		v.Rule, v.Bound = SendBeforePromise, promised
	case !c.mayActAt(ev.Sent):
		v.Rule, v.Bound = PastGrant, c.granted
	}
	return v, v.Rule != 0
}

// mayActAt reports whether the client is authorized to act at that instant. Everybody is at the start.
func (c *client) mayActAt(at Instant) bool { return at.Before(c.granted) || at == Start }

// transmit sends a message over one link, as its n-th. It returns false when that ended the run.
func (d *Dispatcher) transmit(id ClientID, model Link, n uint64, m Message) bool {
	d.dues = model.Transit(d.dues[:0], n, m.Sent, len(m.Payload))
	to := &d.clients[id]
	if len(d.dues) == 0 {
		d.effects.lose(id, &m)
	}
	for _, due := range d.dues {
		m.Due = due
		if due.Step > d.config.MaxSteps && due != Infinity {
			d.finish(&StepsError{At: due, MaxSteps: d.config.MaxSteps, Cycle: d.cycle(m.From, id, m.Channel)})
			return false
		}
		if due.Before(to.granted) && to.state != gone {
			d.finish(fmt.Errorf("metasim: a message from %q reaches %q at %v, which was told that nothing can before %v; "+
				"the delay model of %q gives less than it promised", d.clients[m.From].name, to.name, due, to.granted, m.Channel))
			return false
		}
		if to.state != gone {
			to.queue.push(m)
			d.touch(to)
		}
		d.effects.queue(id, &m)
	}
	return true
}
