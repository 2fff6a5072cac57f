package metasim

import (
	"cmp"
	"slices"
)

// A run holds messages that are sent and not handled: in the queues of the server, and in the hands of clients. A client that
// others hear and that hears nobody could be authorized to the end of the run at once, and would fill the memory while the
// others are still at the beginning. Config.Memory bounds that; what follows decides who waits. docs/adr/0024-bounded-memory.md
// says why it ends no run, and changes no result.
//
// While little is held, a client is authorized at most a span of simulated time ahead of what it does. The span follows what
// the client sends in it, and is renewed before it is used up. While much is held, a client waits until the slowest of those
// for whom it is held has come as far as it.

// What a message takes beside its payload, in bytes: once, and for each recipient that has not handled it.
const (
	messageCost  = 64
	deliveryCost = 64
)

// Reports count too, though they take no memory: a client that only steps may begin to send at any time, and must not be far ahead
// then. A report counts as reportCost bytes, but never as more than 1/fewReports of what a client may send in a span.
const (
	reportCost = 4 << 10
	fewReports = 1 << 10
)

// leastAhead is what a client may always be given ahead: less would cost more turns than it saves memory.
const leastAhead = 64 << 10

// leastBurst is how much a client may always send at one instant, however little a run may hold: 64 MiB.
const leastBurst = 64 << 20

// firstSpan is how far ahead a client is authorized at first. The scale of time is not known then; a span that is too short grows at
// once.
const firstSpan Time = 1

// A memory is what the messages of a run take, and who waits for it.
type memory struct {
	part   int // what one client may send in a span
	report int // how many bytes of part a report counts as
	held   int
	peak   int
	tight  bool       // much is held. Events alone change it: a journal leaves out the Settles that had no effect
	loose  bool       // tight has ended since the last Settle
	short  []ClientID // the clients that wait for memory
	known  bool       // slowest and stands are up to date in this Settle
	stands Instant    // how far slowest has come
	// slowest is the client that has come least far of those for whom much is held.
	slowest ClientID
}

// share divides the memory. When three eighths are held, clients that are ahead must wait. All senders together may send another
// eighth before they can be told to wait. Another one may be in the hands of clients. The rest is for what is not counted.
func (d *Dispatcher) share() {
	hearers := 0
	for i := range d.clients {
		c := &d.clients[i]
		c.use.span = firstSpan
		for p := range c.pubs {
			for range c.pubs[p].all() {
				c.use.heard = !c.proxy || !c.outside // what is sent outside cannot be held back here: see Crowded
				break
			}
		}
		if c.use.heard {
			hearers++
		}
	}
	ahead := d.config.Ahead
	if bound := d.config.Memory; bound > 0 {
		ahead = min(ahead, max(leastAhead, bound/8/len(d.clients)))
		d.memory.part = bound / 8 / max(1, hearers)
	}
	for i := range d.clients {
		c := &d.clients[i]
		c.ahead = cmp.Or(d.config.AheadOf[c.name], ahead)
	}
	d.memory.report = min(reportCost, max(1, d.memory.part/fewReports))
}

// enqueue puts a message into the queue of a recipient. What is due at the end of the run or later is never delivered, and so
// takes no memory.
func (d *Dispatcher) enqueue(to *client, m *Message, place uint32) {
	if !m.Due.Before(d.end) {
		return
	}
	to.queue.push(m, place)
	d.store.messages[place].users++
	d.memory.held += deliveryCost
	to.use.held += deliveryCost + messageCost + len(m.Payload)
}

// kept counts a message when all its recipients are known.
func (d *Dispatcher) kept(c *client, place uint32, sent Instant) {
	users := int(d.store.messages[place].users)
	if users == 0 {
		d.store.remove(place)
		return
	}
	size := messageCost + len(d.store.messages[place].payload)
	d.memory.held += size
	d.memory.peak = max(d.memory.peak, d.memory.held)
	d.memory.tight = d.memory.tight || d.config.Memory > 0 && d.memory.held > d.config.Memory/8*3
	size += users * deliveryCost
	c.use.spent += size
	if c.use.at != sent {
		c.use.at, c.use.burst = sent, 0
	} else if limit := max(d.config.Memory, leastBurst); c.use.burst > limit && d.config.Memory > 0 {
		d.finish(&MemoryError{Client: c.name, At: sent, Bytes: c.use.burst, Bound: limit})
	}
	c.use.burst += size
}

// release counts that one recipient needs a message no longer.
func (d *Dispatcher) release(c *client, place uint32) {
	m := &d.store.messages[place]
	d.memory.held -= deliveryCost
	c.use.held -= deliveryCost + messageCost + len(m.payload)
	if m.users--; m.users == 0 {
		d.memory.held -= messageCost + len(m.payload)
		d.store.remove(place)
	}
	if d.memory.tight && d.memory.held <= d.config.Memory/4 {
		d.memory.tight, d.memory.loose = false, true
	}
}

// releaseHandled releases what a client has acknowledged.
func (d *Dispatcher) releaseHandled(c *client) {
	n := c.given.Len() - c.window.given.Len()
	for _, place := range c.given.All()[:n] {
		d.release(c, place)
	}
	c.given.Drop(n)
}

// compact gives every message that is left a new place, and returns the memory of a burst.
func (d *Dispatcher) compact() {
	old := d.store.messages
	moved := make([]uint32, len(old))
	kept := make([]stored, 0, leastKept)
	for place := range old {
		if old[place].users > 0 {
			moved[place] = uint32(len(kept))
			kept = append(kept, old[place])
		}
	}
	d.store = store{messages: kept}
	for i := range d.clients {
		c := &d.clients[i]
		for k := range c.queue.heap {
			c.queue.heap[k].place = moved[c.queue.heap[k].place]
		}
		given := c.given.All()
		for k := range given {
			given[k] = moved[given[k]]
		}
	}
}

// releaseAll releases all that a client was given, and all that waits for it.
func (d *Dispatcher) releaseAll(c *client) {
	for _, place := range c.given.All() {
		d.release(c, place)
	}
	for i := range c.queue.heap {
		d.release(c, c.queue.heap[i].place)
	}
}

// weigh makes Settle look at the clients that may go on because memory was freed. It must overlook none: a replay has fewer Settles
// than the run had, and each must find all that has changed since the one before.
func (d *Dispatcher) weigh() {
	m := &d.memory
	m.known = false
	if m.loose {
		m.loose = false
		for i := range d.clients {
			if d.clients[i].use.heard {
				d.moved = append(d.moved, ClientID(i).node())
			}
		}
	}
	m.short = slices.DeleteFunc(m.short, func(id ClientID) bool {
		c := &d.clients[id]
		d.findSlowest()
		if c.state != gone && m.tight && m.stands.Before(c.need()) {
			return false
		}
		d.unpark(id)
		return true
	})
}

// unpark ends a client's wait for memory, and makes Settle look at it.
func (d *Dispatcher) unpark(id ClientID) {
	d.clients[id].use.short = false
	d.moved = append(d.moved, id.node())
}

// findSlowest finds the client that is least far among those for which much is held: more than half of the average. There is always
// one, because somebody's part is no less than the average.
func (d *Dispatcher) findSlowest() {
	m := &d.memory
	if m.known {
		return
	}
	m.known, m.stands = true, Infinity
	much := m.held / len(d.clients) / 2
	for i := range d.clients {
		c := &d.clients[i]
		if c.use.held <= much {
			continue
		}
		stands := c.upcoming()
		if c.isEar() {
			stands = Later(stands, c.floor) // the nested run has taken all before that
		}
		if stands.Before(m.stands) {
			m.slowest, m.stands = c.id, stands
		}
	}
}

// Crowded reports whether much is held, and for whom: how far the slowest has come. Until it has come further a gateway takes from outside
// only what is needed, see OutsideNeed. It looks at every client where much is held.
func (d *Dispatcher) Crowded() (slowest Instant, much bool) {
	if !d.memory.tight {
		return Infinity, false
	}
	d.memory.known = false
	d.findSlowest()
	return d.memory.stands, d.memory.stands.Before(d.end)
}

// affordable returns how far a client is authorized: to its safe time at most, and no further than memory allows, here and in a run
// that gives it credit. A client that must wait for memory, or has not used up half of its span, keeps the limit that it has.
func (d *Dispatcher) affordable(c *client) Instant {
	switch need := c.need(); {
	case c.waiting && !need.Before(c.safe): // it does nothing before
		return c.safe
	case c.overdrawn():
		return c.granted
	case c.isEar() && c.waiting && !c.messages:
		return Earlier(c.safe, At(c.want.Time.Add(1)).Add(0)) // a step less would be no more than what delays inside round off
	}
	return Earlier(c.credit, d.spare(c))
}

// overdrawn reports whether nothing but a Credit lets a client go on.
func (c *client) overdrawn() bool {
	if c.waiting {
		return !c.need().Before(c.credit)
	}
	return !c.granted.Before(c.credit)
}

// spare returns the instant up to which the memory of this run lets a client go on.
func (d *Dispatcher) spare(c *client) Instant {
	need := c.need()
	switch {
	case !c.use.heard || d.config.Memory == 0:
		return c.safe
	case c.waiting && d.memory.tight:
		if d.findSlowest(); d.memory.stands.Before(need) {
			d.withhold(c)
			return c.granted
		}
		return Earlier(Earlier(c.safe, At(need.Time.Add(d.span(c)))), Later(d.memory.stands, need.Add(0)))
	case c.waiting:
		return Earlier(c.safe, At(need.Time.Add(d.span(c))))
	case d.memory.tight || c.use.capped && c.granted.Time-c.reached().Time > c.use.span/2:
		return c.granted
	}
	return Earlier(c.safe, At(c.reached().Time.Add(d.span(c))))
}

// reached is how far a client that computes has come, by what it has said. A proxy says no more than what it promises.
func (c *client) reached() Instant {
	if c.proxy {
		return c.floor
	}
	return c.clock
}

// used reports whether a client that computes is limited by its span, and not by its safe time. Then only its own reports let it go
// further.
func (d *Dispatcher) used(c *client) bool {
	return c.use.heard && d.config.Memory > 0 && !c.safe.Before(At(c.clock.Time.Add(d.span(c))))
}

// withhold notes that a client waits for memory.
func (d *Dispatcher) withhold(c *client) {
	if !c.use.short {
		c.use.short = true
		d.memory.short = append(d.memory.short, c.id)
	}
}

// span returns how far ahead a client is authorized the next time: further than the last time if it has sent little since, less far if
// it has sent much.
func (d *Dispatcher) span(c *client) Time {
	span, part := c.use.span, d.memory.part
	switch spent := c.use.spent; {
	case !c.use.capped:
		return span
	case spent > part:
		return max(1, span/4)
	case spent > part/2:
		return max(1, span/2)
	case spent < part/64:
		return span.Add(7 * min(span, Forever/8))
	case spent < part/8:
		return span.Add(span)
	}
	return span
}

// authorized notes that a client was authorized up to a limit.
func (d *Dispatcher) authorized(c *client, limit Instant) {
	if c.use.heard {
		c.use.span, c.use.spent, c.use.capped = d.span(c), 0, limit.Before(Earlier(c.safe, c.credit)) && !d.memory.tight
	}
	if c.use.short { // the memory came before weigh could look
		c.use.short = false
		d.memory.short = slices.DeleteFunc(d.memory.short, func(id ClientID) bool { return id == c.id })
	}
}

// Held returns the greatest number of bytes that unhandled messages took at any time.
func (d *Dispatcher) Held() int { return d.memory.peak }

// Short returns the clients that wait for memory. It is valid until the next call of Step or Settle.
func (d *Dispatcher) Short() []ClientID { return d.memory.short }
