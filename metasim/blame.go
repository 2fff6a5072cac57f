package metasim

import "cmp"

// A Hop is a link over which one client holds another back.
type Hop struct {
	From, To ClientID
	Channel  string
	Min      Time // the least delay of the link
}

// A Hold is one reason why a client's safe time is what it is: From may still send at Send, and that would reach To at Due.
//
// Send follows from all that is known of From:
//
//	Send = max(Promise, min(NextEvent, Pending + Reaction, Safe + Reaction))
//
// Reason names the term that decides.
type Hold struct {
	Hop
	Reason Reason
	Send   Instant // the earliest that From may still send
	Due    Instant // when that reaches To: the safe time of To

	Promise   Instant // From sends nothing before it, whatever it is given
	NextEvent Instant // From sends nothing before it unless it is given something
	Pending   Instant // due of the earliest message to From that From has not acknowledged; Infinity for none
	Safe      Instant // the safe time of From
	Reaction  Time    // the least time that From takes to answer
	Blocked   bool    // From waits too, and may not go on: what holds From back holds To back as well
}

// A Reason is the term that decides when a client may still send. The zero value is none.
type Reason uint8

const (
	_ Reason = iota
	// Promised: From promised to send nothing before Hold.Send, and nothing later.
	Promised
	// NextEvent: From sends at its next event.
	NextEvent
	// Pending: From may answer a message that it was given or that is queued for it.
	Pending
	// Heard: From may answer a message that it has not been given yet. The next Hold of the chain says from which client.
	Heard
	// Paused: no client holds To back. The run is permitted no further than Due. From is To.
	Paused
	// Initializing: From has not finished its initialization. No client goes on before all have.
	Initializing
	// Absent: From has not joined.
	Absent
	// Memory: To, which needs Due, waits until From has handled what is held for it. From has come to Send, and waits itself where it is
	// Blocked. See Config.Memory.
	Memory
	// NoCredit: no client of this run holds To back. To, which needs more, has a Credit up to Due: the run around this one takes what To sends no
	// further than that yet. From is To.
	NoCredit
)

// String returns the reason in a word or two.
func (r Reason) String() string {
	names := [...]string{
		Promised: "promise", NextEvent: "next event", Pending: "message to handle", Heard: "message to come", Paused: "pause",
		Initializing: "initialization", Absent: "absence", Memory: "memory", NoCredit: "credit",
	}
	if r == 0 || int(r) >= len(names) {
		return "no reason"
	}
	return names[r]
}

// Blame appends to chain why a client's safe time is what it is, and returns it. The first Hold names the link over which the
// earliest unknown message may come. The second names what its sender waits for, and so on: the To of each Hold is the From of
// the one before, and its Send is earlier. Nothing is appended where no client holds this one back.
//
// The From of the last Hold is the root: a client that does not wait, or one that waits for nobody of this run (Paused, NoCredit). All on the chain
// wait for what it does next.
//
// A Hold in the chain may be Blocked with a Reason other than Heard: From waits, but its Send comes from its own promise, next
// event or pending message. The Holds after it say why From has not given a better bound yet: that may be NoCredit.
//
// What raises the safe time of the client is a report of a client on the chain, up to and with the first From whose Reason is
// not Heard; where that Reason is Promised, also a report of a client that holds this From back.
//
// Of a group (Config.Groups) what one was given, and what holds one back, holds for all: the From of a Hold may be one of them and the
// message on its way to another, and a report of any of them may raise the safe time.
//
// Blame takes in all events that were stepped, settled or not. Where several clients hold one back equally it names one of
// them; the same calls of Step, Settle and Blame name the same one. Its cost is the length of the chain.
func (d *Dispatcher) Blame(chain []Hold, id ClientID) []Hold {
	if d.clients[id].state == gone {
		return chain
	}
	switch d.phase {
	case joining, epsilon:
		return d.beginning(chain, id)
	case finished:
		return chain
	}
	d.updateSafeTimes()
	if limit := Earlier(d.end, d.permit); !d.lacksCredit(&d.clients[id]) && !d.starves(&d.clients[id]) && !d.forest.SafeTime(id.node()).Before(limit) {
		if d.permit.Before(d.end) {
			chain = append(chain, Hold{Hop: Hop{From: id, To: id}, Reason: Paused, Due: d.permit})
		}
		return chain
	}
	why := Reason(0)
	for range len(d.clients) + 1 { // each is on the chain once at most, as Send falls
		if c := &d.clients[id]; why != Heard && d.lacksCredit(c) { // what it may hear decides elsewhere
			return append(chain, Hold{Hop: Hop{From: id, To: id}, Reason: NoCredit, Due: c.credit})
		}
		from, memory := d.holder(id)
		if from == noClient {
			return chain
		}
		h := d.hold(from, id, memory)
		chain = append(chain, h)
		if h.Reason != Heard && !h.Blocked {
			return chain
		}
		id, why = from, h.Reason
	}
	return chain
}

// noClient is who holds back a client that no other holds back.
const noClient = ^ClientID(0)

// holder returns the client that holds another back, and whether that is for memory; or noClient.
func (d *Dispatcher) holder(id ClientID) (from ClientID, memory bool) {
	if d.starves(&d.clients[id]) {
		d.findSlowest()
		return d.memory.slowest, true
	}
	if node, held := d.forest.Holder(id.node()); held {
		return ClientID(node), false
	}
	return noClient, false
}

// lacksCredit reports whether nothing but a Credit lets a client that waits go on.
func (d *Dispatcher) lacksCredit(c *client) bool {
	return c.waiting && c.overdrawn() && c.need().Before(d.safe(c))
}

// starves reports whether nothing but memory keeps a client waiting, also before a Settle has found that: a journal leaves out those
// without an effect.
func (d *Dispatcher) starves(c *client) bool {
	if c.use.short || !c.waiting || !c.use.heard || !d.memory.tight || !c.need().Before(d.safe(c)) {
		return c.use.short
	}
	d.memory.known = false
	d.findSlowest()
	return d.memory.stands.Before(c.need())
}

// beginning is the chain of a client before the first client is authorized.
func (d *Dispatcher) beginning(chain []Hold, id ClientID) []Hold {
	if c := &d.clients[id]; d.phase == joining && c.state == absent || d.phase == epsilon && !c.polled {
		return chain
	}
	for i := range d.clients {
		c := &d.clients[i]
		h := Hold{Hop: Hop{From: c.id, To: id}}
		switch {
		case d.phase == joining && c.state == absent:
			h.Reason = Absent
		case d.phase == epsilon && c.state == joined && !c.polled:
			h.Reason = Initializing
		default:
			continue
		}
		return append(chain, h)
	}
	return chain
}

// hold makes the Hold of a client and its holder.
func (d *Dispatcher) hold(from, to ClientID, memory bool) Hold {
	c, b := &d.clients[from], d.forest.Bounds(from.node())
	h := Hold{
		Promise: b.Floor, NextEvent: c.next, Pending: c.pending(), Safe: d.forest.SafeTime(from.node()), Reaction: b.Reaction,
	}
	h.Reason, h.Send, h.Blocked = d.reason(from)
	if memory {
		h.Reason, h.Hop, h.Send, h.Due = Memory, Hop{From: from, To: to}, d.memory.stands, d.clients[to].need()
		return h
	}
	h.Hop, h.Due = d.hop(from, to, h.Send)
	return h
}

// reason returns the term that decides when a client may still send, when that is, and whether the client is blocked.
func (d *Dispatcher) reason(from ClientID) (reason Reason, send Instant, blocked bool) {
	c, b, safe := &d.clients[from], d.forest.Bounds(from.node()), d.forest.SafeTime(from.node())
	send = b.Send(safe)
	heard := safe.React(b.Reaction)
	switch {
	case send == b.Floor:
		reason = Promised
	case heard.Before(b.Known):
		reason = Heard
	case c.next == b.Known:
		reason = NextEvent
	default:
		reason = Pending
	}
	if c.proxy { // its safe time does not hold it back, nor does memory or credit where it might answer sooner than it waits for
		return reason, send, c.waiting && !send.Before(c.need()) && (d.lacksCredit(c) || d.starves(c))
	}
	// Where From waits its Send is not before its Safe, so that Send falls along the chain and the chain ends.
	return reason, send, c.waiting && (d.lacksCredit(c) || d.starves(c) || !d.reaches(c, d.safe(c)))
}

// hop returns the link over which what one client sends at an instant or later reaches another first, and when. Where several
// links do it is the first in order of channel.
func (d *Dispatcher) hop(from, to ClientID, send Instant) (Hop, Instant) {
	best, due := Hop{From: from, To: to}, Infinity
	c := &d.clients[from]
	for i := range c.pubs {
		model := c.pubs[i].link(to)
		if g := d.clients[to].group; g != nil && model == nil { // what another one of its group is given holds it back, too
			for _, member := range g.hearing {
				model = cmp.Or(model, c.pubs[i].link(member.id))
			}
		}
		if model == nil {
			continue
		}
		if at := model.Earliest(send); best.Channel == "" || at.Before(due) {
			best.Channel, best.Min, due = c.pubs[i].channel, model.Min(), at
		}
	}
	return best, due
}
