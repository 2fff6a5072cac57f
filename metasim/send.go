package metasim

import (
	"fmt"

	"metasim/metasim/safetime"
)

// send takes one publish: checks it against everything the client has said, and queues it for each subscriber.
func (d *Dispatcher) send(ev *Send) {
	c := d.admit(ev.Client, ev.Sent)
	if c == nil {
		return
	}
	pub := c.publication(ev.Channel)
	if d.broke(c, c.checkSend(ev, pub)) {
		return
	}
	c.clock = Later(c.clock, ev.Sent)
	c.floor = Later(c.floor, ev.Sent) // sends never go back in time: each is a promise
	m := Message{From: c.id, Seq: c.sends, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload}
	c.sends++
	place := d.store.add(&m)
	d.cascade.undelayed = 0
	if pub.common != nil {
		for _, to := range pub.common.to {
			if !d.transmit(to, pub.common.model, 0, m, place) {
				return
			}
		}
	}
	for i := range pub.links {
		l := &pub.links[i]
		l.count++
		if !d.transmit(l.to, l.model, l.count-1, m, place) {
			return
		}
		d.linkRose(c.id.node(), l) // a link that keeps the order may just have delivered later
	}
	d.kept(c, place, ev.Sent)
	d.widen(c, pub, ev.Sent, len(ev.Payload))
}

// linkRose says that a link may give later arrivals than before.
func (d *Dispatcher) linkRose(from safetime.Node, l *link) {
	if d.forest != nil && d.forest.IsParent(from, l.to.node()) {
		d.forest.LinkRose(from, l.to.node(), l.model)
	}
	if f := d.foresight; f != nil && f.forest.IsParent(from, l.to.node()) {
		f.forest.LinkRose(from, l.to.node(), l.model)
		f.behind = true
	}
}

// transmit sends a message over one link, as its n-th. It returns false when that ended the run.
func (d *Dispatcher) transmit(id ClientID, model Link, n uint64, m Message, place uint32) bool {
	d.dues = model.Transit(d.dues[:0], n, m.Sent, len(m.Payload))
	to := &d.clients[id]
	if len(d.dues) == 0 {
		d.effects.lose(id, &m)
	}
	for _, due := range d.dues {
		m.Due = due
		if due.Time == m.Sent.Time && to.group == nil {
			d.cascade.undelayed++
		}
		if due.Step > d.config.MaxSteps && due != Infinity && to.group == nil { // of a group's own link no step counts
			cycle, _ := d.cycle(m.From, id, m.Channel)
			d.finish(&StepsError{At: due, MaxSteps: d.config.MaxSteps, Cycle: cycle})
			return false
		}
		if due.Before(to.granted) && to.state != gone {
			d.finish(fmt.Errorf("a message of %q on %q is due for %q at %v, which was authorized up to %v; "+
				"the delay model of that link gave less than its own bound: mend its Min or Earliest",
				d.clients[m.From].name, m.Channel, to.name, due, to.granted))
			return false
		}
		if to.state != gone {
			d.enqueue(to, &m, place)
			d.touch(to)
		}
		d.effects.queue(id, &m)
	}
	return true
}
