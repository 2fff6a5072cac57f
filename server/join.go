package server

import (
	"crypto/subtle"
	"fmt"
	"slices"

	"metasim/metasim"
	"metasim/wire"
)

// hello lets a client in, or says why not.
func (s *Server) hello(sess *session, number uint32, h wire.Hello) {
	if m := sess.members[number]; m != nil {
		s.misbehaves(m, fmt.Sprintf("member %d of this connection has said Hello already", number), "it said Hello twice")
		return
	}
	id, known := s.ids[h.Name]
	switch {
	case h.Version != wire.Version:
		s.refuse(sess, number, wire.BadVersion, fmt.Sprintf(
			"client %q speaks protocol version %d, this server speaks %d; build both from one version of metasim", h.Name, h.Version, wire.Version))
	case s.config.Token != "" && subtle.ConstantTimeCompare([]byte(h.Token), []byte(s.config.Token)) != 1:
		s.refuse(sess, number, wire.BadToken, fmt.Sprintf(
			"client %q has not the join token of this run; give it METASIM_TOKEN as the server printed it", h.Name))
	case !known:
		s.refuse(sess, number, wire.UnknownName, fmt.Sprintf(
			"the scenario %q has no client %q; name it there, or join as one of: %s", s.config.Scenario, h.Name, s.someNames()))
	case s.started:
		s.refuse(sess, number, wire.TooLate, fmt.Sprintf(
			"client %q comes too late: the run has begun, and nobody joins after that", h.Name))
	case s.clients[id].member != nil:
		s.refuse(sess, number, wire.NameTaken, fmt.Sprintf(
			"a client called %q has joined already; names are unique in a run", h.Name))
	default:
		s.admit(sess, number, id, h)
	}
}

// admit joins a client, and begins the run if it was the last one.
func (s *Server) admit(sess *session, number uint32, id metasim.ClientID, h wire.Hello) {
	for _, sub := range h.Subscriptions {
		if err := metasim.CheckSubscription(sub); err != nil {
			s.refuse(sess, number, wire.BadMessage, fmt.Sprintf(
				"client %q subscribes to %q, which is neither a channel name nor a regular expression: %v", h.Name, sub, err))
			return
		}
	}
	m := &member{number: number, client: id, session: sess}
	sess.members[number] = m
	s.clients[id].member = m
	s.clients[id].since, s.clients[id].heard = s.wall(), s.wall()
	s.heard++
	s.step(&metasim.Join{
		Client: id, Publications: h.Publications, Subscriptions: h.Subscriptions, Reaction: h.Reaction,
	})
	if s.ended {
		return
	}
	s.put(sess, wire.Packet{Member: number, Body: wire.Welcome{Scenario: s.config.Scenario, Seed: s.config.Seed, Timed: s.config.Timed}})
	s.joined++
	s.log.Debug("joined", "client", h.Name, "peer", sess.conn.Peer(), "missing", len(s.clients)-s.joined)
	if s.joined == len(s.clients) {
		s.begin()
	}
}

// begin starts the run: all have joined.
func (s *Server) begin() {
	s.started, s.start = true, s.wall()
	s.step(&metasim.Begin{})
	start := wire.Start{Until: s.dispatcher.End()}
	for i := range s.clients {
		s.putClient(metasim.ClientID(i), start)
	}
}

// refuse ends a member, or one that would be.
func (s *Server) refuse(sess *session, number uint32, reason wire.Reason, text string) {
	s.log.Warn("refused", "peer", sess.conn.Peer(), "why", text)
	s.put(sess, wire.Packet{Member: number, Body: wire.Refuse{Reason: reason, Text: text}})
}

// misbehaves ends a member that has joined and then says what is not for it to say.
func (s *Server) misbehaves(m *member, text, why string) {
	if m.left {
		return // it has had its last message
	}
	s.refuse(m.session, m.number, wire.BadMessage, text)
	s.lost(m.client, why)
}

// missing names the clients that have not joined.
func (s *Server) missing() []string {
	var names []string
	for i, name := range s.dispatcher.Names() {
		if s.clients[i].member == nil {
			names = append(names, name)
		}
	}
	return names
}

// someNames lists the names of the run, not too many of them.
func (s *Server) someNames() string {
	const enough = 8
	names := s.dispatcher.Names()
	if len(names) <= enough {
		return fmt.Sprintf("%q", names)
	}
	return fmt.Sprintf("%q and %d more", slices.Clone(names[:enough]), len(names)-enough)
}
