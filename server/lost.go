package server

import (
	"fmt"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// hangUp takes the end of a connection: whoever was on it and had not left is lost.
func (s *Server) hangUp(sess *session, why string) {
	sess.outbox.close()
	if len(sess.members) == 0 {
		s.log.Debug("a connection ended without a client", "peer", sess.conn.Peer(), "cause", why)
	}
	// In order of client, so that of several the same one is named each time.
	for i := range s.clients {
		if m := s.clients[i].member; m != nil && m.session == sess && !m.left {
			s.lost(metasim.ClientID(i), why)
		}
	}
}

// A peer that reads nothing is told from one that is slow by what waits for it: no more than a number of bytes, for no
// longer than a time in which it has taken nothing; and never more than some times that number.
const (
	outboxTime = 10 * time.Second
	hardFactor = 4
)

// watch looks after a connection for which more waits than should: if its peer takes nothing for some time, although it
// waits for an answer or goes on asking, it is dropped. One that has its answer and is silent computes: it reads when it
// has done so.
func (s *Server) watch(sess *session) {
	if sess.watched {
		return
	}
	sess.watched, sess.known = true, sess.heard
	_, writes := sess.outbox.state()
	time.AfterFunc(outboxTime, func() {
		s.order(func() {
			sess.watched = false
			switch waiting, now := sess.outbox.state(); {
			case waiting <= s.config.OutboxLimit:
			case now == writes && sess.asks():
				s.drop(sess, waiting)
			default:
				s.watch(sess)
			}
		})
	})
}

// asks reports whether the peer has said something since it was found not to read, or has not taken the answer to what it
// said before.
func (sess *session) asks() bool { return sess.heard > sess.known || sess.outbox.taken() < sess.answer }

// drop hangs up on a peer that does not read, at once: its writer is stuck, and what waits for it would wait for ever.
func (s *Server) drop(sess *session, waiting int) {
	s.hangUp(sess, fmt.Sprintf("%d bytes wait to be read by it, the limit is %d: it asks without reading",
		waiting, s.config.OutboxLimit))
	s.spawn(func() {
		_ = sess.conn.Close() // the loss has been told; a transport may take a moment to close
	})
}

// lost takes the loss of a client: where the scenario lets it be detached it is cut off, else the run fails as soon as
// it is known what became of it.
func (s *Server) lost(id metasim.ClientID, why string) {
	a := &s.clients[id]
	if s.ended || a.lost || a.member != nil && a.member.left {
		return
	}
	a.lost = true
	status := s.dispatcher.Status(id)
	e := &LostError{
		Client: status.Name, Joined: a.member != nil, Now: status.Clock, NoSendBefore: status.NoSendBefore, Cause: why,
	}
	if a.member != nil {
		a.member.left = true
	}
	if s.started && s.config.Detach[status.Name] {
		s.detached = true
		a.member.cut = true
		s.resumes(id)
		a.end = s.wall()
		s.log.Warn("detached", "client", status.Name, "at", status.Clock, "cause", why)
		s.step(&metasim.Leave{Client: id, Now: status.Clock, Cut: true})
		return
	}
	if s.config.Obituary == nil {
		s.fail(e)
		return
	}
	if s.dying {
		return // the run fails with the first one, whoever's obituary would be written sooner
	}
	s.dying = true
	s.spawn(func() {
		e.Obituary = s.config.Obituary(e.Client)
		s.order(func() { s.fail(e) })
	})
}

// fail ends the run with an error, the first one.
func (s *Server) fail(err error) {
	if !s.ended {
		s.ended, s.err = true, err
	}
}

// farewell tells those who have not left that the run is over, and why.
func (s *Server) farewell(err error) {
	text := "the run is over"
	if err != nil {
		text = fmt.Sprintf("the run failed: %v", err)
	}
	for i := range s.clients {
		if m := s.clients[i].member; m != nil && !m.left {
			s.put(m.session, wire.Packet{Member: m.number, Body: wire.Refuse{Reason: wire.RunFailed, Text: text}})
		}
	}
	s.flush()
}
