package session

import (
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// A client whose process died is started again. Its new process joins under the same name and is given again, as fast as it takes it,
// what the old one was given. What it says is compared with what the old one said, and does not reach the dispatcher, for which the client
// is only slow. When it has come as far as the old one, it takes part again.
//
// One that makes checkpoints begins at the last of them, and is given what follows that. The first part of its past says where.
//
// What is given again comes from a journal, in parts (Remember). What the dispatcher decides meanwhile follows that.

// maxHeld is how many packets of a client may wait for more of its past, before its connection is not to be read for a while.
const maxHeld = 4096

// Vacate lets the process of a client be replaced that is gone without leaving: the client stays, and nothing is sent to it until it
// joins again. A client that has not joined yet may always be replaced. The old process, if it lives after all, does not come back any more.
func (s *Server) Vacate(id metasim.ClientID) {
	if m := &s.members[id]; m.present {
		m.conn, m.again, m.away, m.standing, m.survives = nil, nil, true, nil, false
	}
}

// Restore takes an event of a run that was cut off, before any connection: its clients join again, as those do whose process is replaced.
func (s *Server) Restore(ev metasim.Event) {
	if id, of := metasim.ClientOf(ev); of && s.members[id].standing != nil {
		s.members[id].standing.event(ev)
	}
	switch ev := ev.(type) {
	case *metasim.Join:
		m := &s.members[ev.Client]
		m.present, m.away, m.joined = true, true, ev
		s.joined++
	case *metasim.Leave:
		m := &s.members[ev.Client]
		m.away, m.over, m.done = false, true, true
		m.lost, m.cut = ev.Cut, ev.Cut
	}
}

// Return lets a client in again that was away; ev is the Join that Receive has returned, and is not for the dispatcher. If the run has
// started, the caller calls Remember with all that its journal has of the client by now, before it steps the dispatcher again or
// later.
func (s *Server) Return(ev *metasim.Join) *Refusal {
	m := &s.members[ev.Client]
	m.away = false
	if d := CompareJoins(s.config.Names[ev.Client], m.joined, ev); d != nil {
		return m.differs(d)
	}
	switch {
	case !s.Started():
		s.greet(m)
		return nil
	case m.back != nil:
		s.admit(m)
		return nil
	}
	m.standing, m.unacked = nil, nil // it begins anew
	m.again = &again{server: s, member: m, past: Past{Client: ev.Client}, since: Past{Client: ev.Client}}
	m.put(s.welcome(m))
	if s.every(m) == 0 {
		m.again.begin(nil)
	}
	return nil
}

// begin tells the client where it begins: at a checkpoint, or at the start of the run.
func (a *again) begin(at *Saved) {
	if a.begun {
		return
	}
	a.begun = true
	if every := a.server.every(a.member); every > 0 {
		var p wire.Checkpoint
		if at != nil {
			p = at.Checkpoint
			a.sent = at.Sent
			a.feed.skip(p.Acked)
		}
		p.Every = every
		a.member.put(p)
	}
	a.member.put(wire.Start{Until: a.server.config.Until})
}

// Repeats reports whether a client that came back still repeats what it did.
func (s *Server) Repeats(id metasim.ClientID) bool { return s.members[id].again != nil }

// Needs reports whether a client that repeats what it did needs more of its past, and whether so much of what it says waits for that
// that its connection should not be read for now.
func (s *Server) Needs(id metasim.ClientID) (more, full bool) {
	a := s.members[id].again
	waits := len(a.held) > 0
	return !a.whole && (waits || a.past.Given.Len() == 0 && a.past.Sends.Len() < aheadSends), len(a.held) >= maxHeld
}

// Repeating returns the client that is a member of a connection, if it repeats what it did.
func (c *Conn) Repeating(member uint32) (metasim.ClientID, bool) {
	m := c.members[member]
	if m == nil || m.again == nil {
		return 0, false
	}
	return m.client, true
}

// Remember takes the next part of what a client was given and said, in order; whole says that it is the last. Then the caller gives each packet that Held
// returns to Receive, until there is none.
func (s *Server) Remember(id metasim.ClientID, part *Past, whole bool) {
	a := s.members[id].again
	if a == nil {
		return
	}
	a.begin(part.Begin)
	a.past.Append(part)
	if whole {
		a.whole = true
		a.past.Append(&a.since)
	}
}

// Held returns the packets of a client that waited for more of its past, and forgets them.
func (s *Server) Held(id metasim.ClientID) []wire.Packet {
	a := s.members[id].again
	if a == nil {
		return nil
	}
	held := a.held
	a.held = nil
	return held
}

// differs refuses a client that did not repeat itself.
func (m *member) differs(d *Difference) *Refusal {
	r := m.conn.refuse(m.number, wire.RuleBroken, d.Where+" is not what it was before it was started again")
	m.over = true
	r.Client, r.Difference = m.client, d
	return r
}

// later is where what is decided now waits for its turn.
func (a *again) later() *Past {
	if a.whole {
		return &a.past
	}
	return &a.since
}

func (a *again) name() string { return a.server.config.Names[a.member.client] }

// take takes what the client says. It returns the event for the dispatcher: what is new.
func (a *again) take(p wire.Packet, ev metasim.Event) (metasim.Event, *Refusal) {
	if len(a.held) > 0 {
		a.hold(p)
		return nil, nil
	}
	var event metasim.Event
	var r *Refusal
	waits := false // for more of the past
	switch ev := ev.(type) {
	case *metasim.Send:
		event, r, waits = a.send(ev)
	case *metasim.Promise:
		if a.isDone() && a.past.Last.NoSendBefore.Before(ev.NoSendBefore) {
			event = ev
		}
	case *metasim.Advance:
		event, r, waits = a.report(&ev.Report, nil, ev)
	case *metasim.PollWait:
		event, r, waits = a.report(&ev.Report, ev, ev)
	case *metasim.Leave:
		event, r, waits = a.leave(ev)
	}
	if waits {
		a.hold(p)
	}
	return event, r
}

// hold keeps a packet until more of the past has come: as the client sent it, because it is received again then.
func (a *again) hold(p wire.Packet) {
	p = p.Keep()
	if ev, ok := p.Body.(*metasim.Send); ok && a.member.scope != nil {
		ev.Channel, _ = a.member.scope.Own(ev.Channel) // it is the inverse of what was done to it
	}
	a.held = append(a.held, p)
}

// isDone reports whether the client has sent all that it had sent.
func (a *again) isDone() bool { return a.whole && a.past.Sends.Len() == 0 }

func (a *again) send(now *metasim.Send) (ev metasim.Event, r *Refusal, waits bool) {
	switch {
	case a.past.Sends.Len() > 0:
		if d := CompareSends(a.name(), a.sent, *a.past.Sends.First(), now); d != nil {
			return nil, a.member.differs(d), false
		}
		a.past.Sends.Pop()
		a.sent++
		return nil, nil, false
	case !a.whole:
		return nil, nil, true
	case now.Sent.Before(a.past.Clock):
		return nil, a.member.differs(&Difference{WhereSent(a.name(), a.sent), OnwardText(a.past.Clock), SendText(now, 0)}), false
	}
	a.sent++ // the first that is new
	a.past.Clock = now.Sent
	return now, nil, false
}

// caughtUp reports whether the client has come at least as far as its reports had said.
func (a *again) caughtUp(now metasim.Instant, acked uint64) bool {
	return a.isDone() && acked >= a.past.Last.Acked && !now.Before(a.past.Clock)
}

func (a *again) report(r *metasim.Report, poll *metasim.PollWait, ev metasim.Event) (_ metasim.Event, _ *Refusal, waits bool) {
	if err := a.feed.Report(r, poll); err != nil {
		return nil, a.member.misbehaves(err.Error(), err.Error()), false
	}
	done := a.caughtUp(r.Now, r.Acked)
	if !a.feed.Waited() {
		return nil, nil, false
	}
	end := a.server.config.Until
	before := a.feed.Granted
	for a.past.Given.Len() > 0 && (done || !a.feed.IsAhead(a.past.Sends.Len()) || !a.feed.Answers(poll, end)) {
		a.feed.Give(a.past.Given.Pop(), func(d *metasim.Deliver) { a.server.deliver(a.member, d) })
	}
	answered := a.feed.Answers(poll, end)
	if done && (poll != nil || a.isNew(r)) { // it takes part again
		a.member.again = nil
		if poll == nil { // else the dispatcher answers
			a.member.put(&metasim.Authorize{To: a.member.client, Until: a.feed.Granted})
		}
		a.member.promised = a.past.Last.NoSendBefore
		a.member.keepPromise(ev)
		return ev, nil, false
	}
	if a.feed.Granted != before || poll != nil && answered {
		a.member.put(&metasim.Authorize{To: a.member.client, Until: a.feed.Granted})
	}
	switch {
	case answered:
		return nil, nil, false
	case !a.whole && a.past.Sends.Len() == 0:
		return nil, nil, true
	}
	return nil, a.member.differs(a.missing(WaitText(poll) + fmt.Sprintf(", with %d deliveries handled", r.Acked))), false
}

// keepPromise has a client that takes part again still promise what it had promised. Its new process may report more often before it comes to that
// promise than the old one did: when a client reports depends on real time.
func (m *member) keepPromise(ev metasim.Event) {
	if m.promised == metasim.Start {
		return
	}
	switch ev := ev.(type) {
	case *metasim.Promise:
		ev.NoSendBefore = metasim.Later(ev.NoSendBefore, m.promised)
	case *metasim.Advance:
		ev.NoSendBefore = metasim.Later(ev.NoSendBefore, m.promised)
	case *metasim.PollWait:
		ev.NoSendBefore = metasim.Later(ev.NoSendBefore, m.promised)
	}
}

// isNew reports whether a client that has caught up says more than it had said.
func (a *again) isNew(r *metasim.Report) bool {
	return a.past.Clock.Before(r.Now) || r.Acked > a.past.Last.Acked || a.past.Last.NoSendBefore.Before(r.NoSendBefore)
}

// leave takes a leave: it is new, as a client that has left is not started again.
func (a *again) leave(now *metasim.Leave) (ev metasim.Event, r *Refusal, waits bool) {
	switch {
	case !a.whole:
		return nil, nil, true
	case !a.caughtUp(now.Now, now.Acked):
		return nil, a.member.differs(a.missing(fmt.Sprintf("it leaves at %v, with %d deliveries handled", now.Now, now.Acked))), false
	}
	a.member.again = nil
	return now, nil, false
}

// missing says what the client had done that it does not do again; now is what it does instead.
func (a *again) missing(now string) *Difference {
	where := WhereSent(a.name(), a.sent)
	if then := a.past.Sends.First(); then != nil {
		return &Difference{where, SendText(*then, 0), now}
	}
	return &Difference{where, fmt.Sprintf("it came to %v, with %d deliveries handled", a.past.Clock, a.past.Last.Acked), now}
}
