package server

import (
	"errors"
	"fmt"
	"io"
	"time"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// round is one turn: everything that waits is stepped, then authorizations are computed once, then each connection is
// written once. The caller has the turn.
func (s *Server) round(work func()) {
	if s.ended {
		return
	}
	s.readClock()
	work()
	s.settle()
	for s.flush() {
		s.settle() // a client was cut off, and others may have waited for it
	}
	if s.stepped {
		s.stepped = false
		s.wakeups++
	}
	if s.ended {
		s.mail.wake()
	}
}

// readClock reads the clock once for a round.
func (s *Server) readClock() { s.wall = time.Since(s.began) }

// takeMail takes all that waits.
func (s *Server) takeMail() {
	for _, in := range s.mail.take() {
		switch {
		case in.command != nil:
			in.command()
		case in.err != nil:
			s.take(in.from, nil, in.err)
		default:
			s.packet(in.from, in.packet)
		}
	}
}

// take takes what a connection brought.
func (s *Server) take(c *connection, packets []wire.Packet, err error) {
	for _, p := range packets {
		s.packet(c, p)
	}
	if err != nil && !s.ended {
		s.disconnect(c, cause(err))
	}
}

// cause says in words how a connection ended.
func cause(err error) string {
	var protocol *wire.ProtocolError
	switch {
	case errors.Is(err, io.EOF):
		return "the connection was closed"
	case errors.As(err, &protocol):
		return "it sent what is not the protocol: " + err.Error()
	}
	return "the connection broke: " + err.Error()
}

// packet takes one message of a peer.
func (s *Server) packet(c *connection, p wire.Packet) {
	if s.ended {
		return
	}
	c.heard++
	ev, refusal := s.session.Receive(c.session, p)
	if refusal != nil {
		s.refused(c, refusal)
		return
	}
	for ev != nil {
		s.timing.hear(c, ev, s.wall)
		s.step(ev)
		if s.err != nil {
			return // the farewell says the last word, or the eviction has said it
		}
		next := s.session.Answer(ev)
		if join, ok := ev.(*metasim.Join); ok {
			s.log.Debug("joined", "client", s.dispatcher.Names()[join.Client], "peer", c.conn.Peer(), "missing", s.session.Awaited())
		}
		ev = next
	}
}

// refused logs that a peer was refused. If it had joined, its client is lost.
func (s *Server) refused(c *connection, r *session.Refusal) {
	s.logRefused(c, r.Text)
	if r.Lost {
		s.lost(r.Client, r.Cause)
	}
}

// flush writes to each connection what this round has for it. It reports true when a peer that does not read was dropped.
func (s *Server) flush() bool {
	dropped := false
	for _, c := range s.written {
		before, after, err := c.flush()
		switch limit := s.config.OutboxLimit; {
		case s.ended:
		case err != nil:
			s.fail(fmt.Errorf("what %s is to be told cannot be sent: %w", c.conn.Peer(), err))
		case before > hardFactor*limit && c.asks():
			dropped = true
			s.drop(c, before)
		case after > limit:
			s.watch(c)
		}
	}
	clear(s.written)
	s.written = s.written[:0]
	return dropped
}
