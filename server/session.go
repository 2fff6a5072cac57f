package server

import (
	"errors"
	"io"
	"net"

	"metasim/metasim"
	"metasim/wire"
)

// A session is one connection, and the members on it.
type session struct {
	conn       wire.Conn
	outbox     *outbox
	members    map[uint32]*member            // looked up, never iterated where order matters
	introduced map[metasim.ClientID]struct{} // whom the peer knows by name
	pass       []wire.Packet                 // what this round has for the connection
	use        spare                         // of the memory of pass
	touched    bool                          // it is in the list of sessions to write
	heard      uint64                        // packets that came
	known      uint64                        // of them, when more waited for it than should
	answered   bool                          // this round answers a member that waits
	answer     uint64                        // of what was ever put into the outbox, up to where the last such answer goes
	watched    bool                          // somebody looks whether it reads
}

// A member is a client as its connection knows it.
type member struct {
	number  uint32
	client  metasim.ClientID
	session *session
	left    bool // it has left, or it is lost: nothing more is expected of it
	cut     bool // it was cut off: what it still says is not heard
}

// Accept takes in connections until the listener is closed, or the run is over: then it closes the listener and returns
// nil.
func (s *Server) Accept(l wire.Listener) error {
	accepted := make(chan struct{})
	defer close(accepted)
	watching := s.spawn(func() {
		select {
		case <-s.over:
		case <-accepted:
		}
		// A listener that is closed twice says so; that it is closed is all that matters.
		_ = l.Close()
	})
	if !watching {
		return l.Close()
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return s.unlessOver(err)
		}
		if !s.attach(conn) {
			return conn.Close()
		}
	}
}

// unlessOver drops what a listener says when it is closed because the run is over.
func (s *Server) unlessOver(err error) error {
	select {
	case <-s.over:
		return nil
	default:
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// attach takes in a connection. It reports false when the run is over.
func (s *Server) attach(conn wire.Conn) bool {
	sess := &session{conn: conn, outbox: newOutbox(conn, s.spawn), members: map[uint32]*member{}}
	direct, isDirect := conn.(wire.Direct)
	if !s.enlist(sess, isDirect) {
		return false
	}
	if isDirect {
		// It may run the machine, which takes the lock: so not under it.
		direct.Receive(func(packets []wire.Packet, err error) { s.bring(sess, packets, err, true) })
	}
	return true
}

// enlist notes a session, and starts its reader if it needs one. It reports false when the run is over.
func (s *Server) enlist(sess *session, isDirect bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sessions = append(s.sessions, sess)
	if !isDirect {
		s.shells.Go(func() { s.read(sess) })
	}
	return true
}

// read is the reader of one connection. It waits when the machine is far behind, and so, through the transport, does
// the peer. When the run is over it reads on, so that the peer's last words do not keep it from reading ours.
func (s *Server) read(sess *session) {
	for {
		packets, err := sess.conn.Read()
		s.bring(sess, packets, err, false)
		if err != nil {
			return
		}
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
