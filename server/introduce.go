package server

import (
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// deliver sends a delivery to its client, unless it is gone. Whom it is from its connection is told once, just before:
// what is put for a connection goes out in order, however it is cut into frames.
func (s *Server) deliver(d *metasim.Deliver) {
	m := s.clients[d.To].member
	if m == nil {
		return
	}
	if sess := m.session; sess.introduces(d.Message.From) {
		s.put(sess, wire.Packet{Body: wire.Introduce{Client: d.Message.From, Name: s.dispatcher.Names()[d.Message.From]}})
	}
	s.put(m.session, wire.Packet{Member: m.number, Body: d})
}

// introduces reports whether a client is still to be introduced on a connection, and takes it as done. The connection
// remembers whom it has heard, not all there are.
func (s *session) introduces(id metasim.ClientID) bool {
	if _, known := s.introduced[id]; known {
		return false
	}
	if s.introduced == nil {
		s.introduced = make(map[metasim.ClientID]struct{})
	}
	s.introduced[id] = struct{}{}
	return true
}

// checkNames sees to it that what clients are told can be told: else they would be lost later for a reason that nobody
// sees.
func checkNames(names []string) error {
	size := 0
	for i, name := range names {
		if err := wire.Check(wire.Packet{Body: wire.Introduce{Client: metasim.ClientID(i), Name: name}}); err != nil {
			return err
		}
		size += len(name) + wire.NameCost
	}
	if size > wire.MaxNames {
		return fmt.Errorf("server: the names of %d clients take %d bytes, each %d beside its own: they take at most %d; use fewer clients or shorter names",
			len(names), size, wire.NameCost, wire.MaxNames)
	}
	return nil
}
