package server

import (
	"fmt"
	"slices"
	"time"

	"metasim/wire"
	"metasim/wire/session"
)

// admit takes in a connection from outside: it waits for a place, and reports false if the run is over first.
func (s *Server) admit(c *connection) bool {
	select {
	case s.visitors.places <- struct{}{}:
	case <-s.over:
		return false
	}
	if g, ok := c.conn.(wire.Guarded); ok {
		g.Guard(s.session.Admits)
	}
	s.visitors.mu.Lock()
	defer s.visitors.mu.Unlock()
	c.visitor = &visitor{connection: c}
	s.visitors.all = append(s.visitors.all, c.visitor)
	if !s.visitors.looking {
		s.visitors.looking = s.spawn(s.lookAtVisitors)
	}
	return true
}

// lookAtVisitors is a goroutine. It ends when there are no visitors, or the run is over.
func (s *Server) lookAtVisitors() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-tick.C:
		}
		late, gone, more := s.visitors.look()
		if len(gone) > 0 {
			s.forget(gone)
		}
		for _, c := range late {
			s.mail.post(func() {
				s.turnAway(c, fmt.Sprintf("no Hello with the join token came within %v; say it at once", helloLooks*lookEvery))
			})
		}
		if !more {
			return
		}
	}
}

// meet takes what a visitor has said: it may be none any more.
func (s *Server) meet(c *connection, refusal *session.Refusal) {
	switch {
	case c.session.Trusted():
		s.visitors.known(c)
		if g, ok := c.conn.(wire.Guarded); ok {
			g.Trust()
		}
	case refusal != nil && c.heard == maxRefusals:
		s.mail.post(func() {
			s.turnAway(c, fmt.Sprintf("%d messages came without the join token; say Hello with it", maxRefusals))
		})
	}
}

// turnAway tells a visitor why, and closes its connection.
func (s *Server) turnAway(c *connection, why string) {
	if c.visitor == nil || s.ended {
		return
	}
	c.session.TurnAway(why)
	_, _, _ = c.flush() // a Refuse can be encoded
	s.refused(c, why)
	s.disconnect(c, why)
}

// forget removes connections of visitors that have ended: a visitor may come a million times.
func (s *Server) forget(gone []*connection) {
	s.spawn(func() { // a transport may take a moment to close
		var t wire.Traffic
		for _, c := range gone {
			_ = c.conn.Close() // its writer may wait for the peer
			t.Add(c.conn.Traffic())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			s.past.Add(t)
			s.connections = slices.DeleteFunc(s.connections, func(c *connection) bool { return slices.Contains(gone, c) })
		}
	})
}
