package session

import (
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// A client that has outlived its server comes back to the one that was resumed: survivor.go is its end of that. The server knows from the journal how
// much the client has sent, and keeps what was decided for it and not acknowledged. When the client is back, it is given of that what it has not handled,
// and is authorized as it was. What the journal lacks the client sends again.

// Resumes says, before the first Restore, that the run was cut off.
func (s *Server) Resumes() {
	for i, name := range s.config.Names {
		if s.config.Patience[name] > 0 {
			s.members[i].standing = new(standing)
		}
	}
}

// A Standing is how far a client had come when its relay was lost.
type Standing struct {
	Known     wire.Known
	Acked     uint64
	Unhandled []metasim.Deliver // what was decided after that delivery
	Granted   metasim.Instant
}

// Await lets a client come back whose relay was lost, as its process may live. It returns for how many nanoseconds of real time the client tries; 0: it
// does not, or repeats its past.
func (s *Server) Await(id metasim.ClientID, at *Standing) (patience int64) {
	m := &s.members[id]
	if patience = s.patience(m); patience == 0 {
		return 0
	}
	m.conn, m.away, m.survives = nil, true, true
	m.standing = &standing{known: at.Known, acked: at.Acked, granted: at.Granted}
	for i := range at.Unhandled {
		m.standing.unhandled.Push(&at.Unhandled[i])
	}
	return patience
}

// patience returns for how many nanoseconds of real time a client tries to come back through another relay; 0: it does not.
func (s *Server) patience(m *member) int64 {
	if !m.returns || m.again != nil || m.over {
		return 0
	}
	return s.config.Patience[s.config.Names[m.client]]
}

// precedes reports whether a client comes back before it is known that its relay is lost: over QUIC that takes some time.
func (s *Server) precedes(m *member, h *wire.Hello) bool {
	return h.Back != nil && m.present && !m.away && m.conn != nil && m.conn.relay != "" && s.patience(m) > 0
}

// event takes what the journal has of the client.
func (s *standing) event(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Send:
		s.known.Sent++
		s.clock(ev.Sent, ev.Sent)
	case *metasim.Promise:
		s.clock(metasim.Start, ev.NoSendBefore)
	case *metasim.Advance:
		s.report(&ev.Report)
	case *metasim.PollWait:
		s.report(&ev.Report)
	}
}

func (s *standing) clock(now, floor metasim.Instant) {
	s.known.Now = metasim.Later(s.known.Now, now)
	s.known.NoSendBefore = metasim.Later(s.known.NoSendBefore, floor)
}

func (s *standing) report(r *metasim.Report) {
	s.clock(r.Now, metasim.Later(r.Now, r.NoSendBefore))
	s.handled(r.Acked)
}

// handled forgets the deliveries up to a number.
func (s *standing) handled(number uint64) {
	s.acked = max(s.acked, number)
	for s.unhandled.Len() > 0 && (*s.unhandled.First()).Number <= s.acked {
		s.unhandled.Pop()
	}
}

func (s *standing) deliver(d *metasim.Deliver) {
	s.known.Delivered = d.Number
	s.unhandled.Push(new(*d))
}

// refusal says why a client cannot come back; empty: it can.
func (s *Server) refusal(m *member, h *wire.Hello) string {
	switch b := m.standing; {
	case h.Back == nil && m.survives:
		return fmt.Sprintf("client %q was lost with its relay, and is awaited: the same process comes back, and a new one cannot take its place", h.Name)
	case h.Back == nil:
	case b == nil || m.present && !m.away:
		return fmt.Sprintf("client %q comes back, and this server has not lost it; a client comes back to a run that metasim resume goes on with, once", h.Name)
	case h.Back.Sent < b.known.Sent || h.Back.Handled < b.acked:
		return fmt.Sprintf("client %q comes back with %d messages sent and %d handled, and the journal has %d and %d of it: it had not caught up when its server was lost; start it again",
			h.Name, h.Back.Sent, h.Back.Handled, b.known.Sent, b.acked)
	}
	return ""
}

// admit lets a client in again that has outlived its server, after the start of the run.
func (s *Server) admit(m *member) {
	b := m.standing
	m.put(s.welcome(m))
	m.put(wire.Start{Until: s.config.Until})
	m.unacked = new(metasim.Window)
	m.unacked.Skip(b.acked)
	for _, d := range b.unhandled.All() {
		if b.acked < d.Number && d.Number <= m.back.Handled {
			m.unacked.Give(d.Message.Due, 0)
		}
	}
	b.handled(m.back.Handled)
	for b.unhandled.Len() > 0 {
		s.deliver(m, b.unhandled.Pop())
	}
	if b.granted != metasim.Start {
		m.put(&metasim.Authorize{To: m.client, Until: b.granted})
	}
	m.promised, m.standing = b.known.NoSendBefore, nil
	m.survives = false
}

// limitAck has a client that catches up acknowledge only what was due by then. It has handled more, before its server died; but if it dies now and is started
// again, its new process will not have, and is to repeat what the journal says.
func (m *member) limitAck(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Advance:
		limitReport(m.unacked, &ev.Report)
	case *metasim.PollWait:
		limitReport(m.unacked, &ev.Report)
	}
}

func limitReport(unacked *metasim.Window, r *metasim.Report) {
	if number := max(unacked.Acked(), unacked.DueBy(r.Now)); number < r.Acked && r.Acked <= unacked.Last() {
		r.Acked = number
	}
	unacked.Acknowledge(r.Acked) // where this is wrong, the dispatcher says so
}

// Lacks returns how many of the messages that a client has sent the journal of its run lacks; false if the client has not come back.
func (s *Server) Lacks(id metasim.ClientID) (messages uint64, back bool) {
	m := &s.members[id]
	if m.back == nil {
		return 0, false
	}
	return m.lacks, true
}
