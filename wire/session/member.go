package session

import (
	"metasim/metasim"
	"metasim/wire"
)

// refuse refuses a member, or a peer that is not a member.
func (c *Conn) refuse(number uint32, reason wire.Reason, text string) *Refusal {
	r := wire.Refuse{Reason: reason, Text: text}
	c.output.Put(wire.Packet{Member: number, Body: r})
	return &Refusal{Refuse: r}
}

// misbehaves refuses a member that has broken the protocol. Its client is lost. If the member has already been sent its last message, it
// is sent nothing more.
func (m *member) misbehaves(text, cause string) *Refusal {
	if m.over {
		return nil
	}
	r := m.conn.refuse(m.number, wire.BadMessage, text)
	r.Lost, r.Client, r.Cause = true, m.client, cause
	return r
}

// put sends a message to a client, unless it never joined or has had its last message.
func (m *member) put(body wire.Body) {
	if m.conn != nil && !m.over {
		m.conn.output.Put(wire.Packet{Member: m.number, Body: body})
	}
}

// welcome is the answer to a Hello.
func (s *Server) welcome(m *member) wire.Welcome {
	w := wire.Welcome{Scenario: s.config.Scenario, Seed: s.config.Seed, Timed: s.config.Timed, CoreWait: s.config.Timed, About: m.about}
	if m.returns {
		w.Patience = s.config.Patience[s.config.Names[m.client]]
	}
	if m.back != nil {
		w.Known = new(m.standing.known)
	}
	return w
}

// greet answers the Hello of a client that begins at the start of the run.
func (s *Server) greet(m *member) {
	m.put(s.welcome(m))
	if every := s.every(m); every > 0 {
		m.put(wire.Checkpoint{Every: every})
	}
	m.standing, m.survives = nil, false
}

// every is the interval of a client's checkpoints, in simulated time; 0: it makes none.
func (s *Server) every(m *member) metasim.Time {
	if !m.saves {
		return 0
	}
	return s.config.Checkpoints[s.config.Names[m.client]]
}

// Saves reports whether a client makes checkpoints.
func (s *Server) Saves(id metasim.ClientID) bool { return s.every(&s.members[id]) > 0 }

// Saved returns the checkpoint that the last packet brought, and forgets it; nil if it brought none that counts.
func (s *Server) Saved() (id metasim.ClientID, saved *wire.Checkpoint) {
	saved = s.saved
	s.saved = nil
	return s.savedBy, saved
}

// deliver sends a delivery. The name of a sender goes once over a connection, before the first delivery
// from it: to send all names to all clients at the start would be quadratic.
func (s *Server) deliver(m *member, d *metasim.Deliver) {
	c := m.conn
	if c == nil || m.over {
		return
	}
	if m.scope != nil {
		d = s.inOwnWords(m, d)
	} else {
		c.introduce(d.Message.From, s.config.Names[d.Message.From])
	}
	if m.unacked != nil {
		m.unacked.Give(d.Message.Due, 0)
	}
	c.output.Put(wire.Packet{Member: m.number, Body: d})
}

// SkipJoin counts a client as joined that has no connection. A replay of one client does so with the others.
func (s *Server) SkipJoin(id metasim.ClientID) {
	s.members[id].present = true
	s.joined++
}

// Started reports whether all clients have joined.
func (s *Server) Started() bool { return s.joined == len(s.members) }

// Awaited returns how many clients have not joined.
func (s *Server) Awaited() int { return len(s.members) - s.joined }

// Presence returns what is known of a client.
func (s *Server) Presence(id metasim.ClientID) Presence {
	switch m := &s.members[id]; {
	case m.lost:
		return Lost
	case !m.present:
		return Absent
	case m.away:
		return Away
	case m.over:
		return Left
	}
	return Present
}

// Missing returns the names of the clients that have not joined, in order.
func (s *Server) Missing() []string {
	var names []string
	for i, name := range s.config.Names {
		if !s.members[i].present {
			names = append(names, name)
		}
	}
	return names
}
