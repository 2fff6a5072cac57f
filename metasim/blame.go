package metasim

// A Hop is a link, as part of the way on which one client holds another back.
type Hop struct {
	From, To ClientID
	Channel  string
	Min      Time // the least delay of the link
}

// A Hold says why a client's safe time is what it is: From may still send at Send, and that would reach To at Due.
//
// What From may still send follows from all that is known of it. Reason names what counts; the others are there for
// whoever wants to know what else would, as
//
//	Send = max(Promise, min(NextEvent, Pending + Reaction, Safe + Reaction))
type Hold struct {
	Hop
	Reason Reason
	Send   Instant // the earliest that From may still send
	Due    Instant // when that reaches To: To's safe time

	Promise   Instant // what From promised, whatever it hears
	NextEvent Instant // what it promised unless it hears something
	Pending   Instant // when the earliest message is due that From has not said it handled; Infinity for none
	Safe      Instant // what From does not know of is due then, or later
	Reaction  Time    // the least time that it takes From to answer
	Blocked   bool    // From waits itself, and may not go on: so what follows in the chain holds both
}

// A Reason is what counts of all that is known of a client. The zero value is none.
type Reason uint8

const (
	_ Reason = iota
	// Promised: it promised, or reported, no more than that it sends nothing before Hold.Send.
	Promised
	// NextEvent: it sends at its next event.
	NextEvent
	// Pending: it may answer a message that it has been given, or that waits for it.
	Pending
	// Heard: it may answer a message which it has not got yet; the next Hold of the chain says whose.
	Heard
	// Paused: nobody holds the client: the run is permitted no further than Due. From is the client itself.
	Paused
	// Initializing: From has not initialized, and before that nobody goes on.
	Initializing
	// Absent: From has not joined.
	Absent
)

// String returns the reason in a word or two.
func (r Reason) String() string {
	names := [...]string{
		Promised: "promise", NextEvent: "next event", Pending: "message to handle", Heard: "message to come", Paused: "pause",
		Initializing: "initialization", Absent: "absence",
	}
	if r == 0 || int(r) >= len(names) {
		return "no reason"
	}
	return names[r]
}

// Blame appends to chain why a client's safe time is what it is, and returns it: first the link over which the earliest
// message may come that is not known yet, then what it is that this sender waits for, and so on. Each Hold leads to the
// From of the one before, and the Send of each is later than its own. Nothing is appended where nobody holds the client.
//
// The From of the last Hold is the root: somebody who does not wait, so that all on the chain wait for what it does or
// says next. A chain may pass a client that stands by its own word and waits itself (Blocked, and a Reason other than
// Heard): the safe time comes from that word, and what follows is why there is no better one yet.
//
// A safe time stays as it is while nobody on the chain speaks, up to and with the first who stands by its own word; where
// that is a promise, nobody who holds this one either. So what lets a client go on is the report of the last of them who
// has spoken, by the chain as it was before; or it is the client's own, or the message for which it waits.
//
// It takes in all events that were stepped, whether they have been settled or not. Of several who hold a client alike it
// names one; the same calls of Step, Settle and Blame name the same. It costs as much as the chain is long.
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
	if limit := Earlier(d.end, d.permit); !d.forest.SafeTime(id.node()).Before(limit) {
		if d.permit.Before(d.end) {
			h := Hold{Hop: Hop{From: id, To: id}, Reason: Paused, Due: d.permit}
			chain = append(chain, h)
		}
		return chain
	}
	for {
		holder, held := d.forest.Holder(id.node())
		if !held {
			return chain
		}
		from := ClientID(holder)
		h := d.hold(from, id)
		chain = append(chain, h)
		if h.Reason != Heard && !h.Blocked {
			return chain
		}
		id = from
	}
}

// beginning is the chain of a client before the run goes on.
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
func (d *Dispatcher) hold(from, to ClientID) Hold {
	c, b := &d.clients[from], d.forest.Bounds(from.node())
	h := Hold{
		Promise: b.Floor, NextEvent: c.next, Pending: c.pending(), Safe: d.forest.SafeTime(from.node()), Reaction: b.Reaction,
	}
	h.Send = b.Send(h.Safe)
	h.Hop, h.Due = d.hop(from, to, h.Send)
	heard := h.Safe.React(b.Reaction)
	switch {
	case h.Send == b.Floor:
		h.Reason = Promised
	case heard.Before(b.Known):
		h.Reason = Heard
	case h.NextEvent == b.Known:
		h.Reason = NextEvent
	default:
		h.Reason = Pending
	}
	// Where it waits its S is not before its E, so that S falls along the chain and the chain ends.
	h.Blocked = c.waiting && !d.reaches(c, d.safe(c))
	return h
}

// hop returns the link on which what one client sends at an instant or later reaches another first, and when: the first
// one in order of channel where several do.
func (d *Dispatcher) hop(from, to ClientID, send Instant) (Hop, Instant) {
	best, due := Hop{From: from, To: to}, Infinity
	c := &d.clients[from]
	for i := range c.pubs {
		model := c.pubs[i].link(to)
		if model == nil {
			continue
		}
		if at := model.Earliest(send); best.Channel == "" || at.Before(due) {
			best.Channel, best.Min, due = c.pubs[i].channel, model.Min(), at
		}
	}
	return best, due
}
