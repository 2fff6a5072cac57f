package server

import (
	"errors"
	"io"

	"metasim/metasim"
	"metasim/wire"
)

// A Gate is how another run in this process takes part: its clients speak through the gate, and what they say is taken in the rounds of
// this run, without a connection that waits. See metasim/run, which puts a gateway between two runs.
type Gate struct{ conn *connection }

// Gate opens a gate. told is given what this run has for the clients of the gate, by the goroutine that runs the dispatcher: it must not block,
// and it must not call the Server. The packets are valid until it returns; payloads stay valid, and are not changed. name is for people.
func (s *Server) Gate(name string, told func([]wire.Packet)) *Gate {
	conn := &gateConn{name: name, told: told}
	g := &Gate{&connection{conn: conn, outbox: newOutbox(conn, s.spawn), server: s, direct: true}}
	g.conn.session = s.session.Connect(g.conn)
	s.mu.Lock()
	s.connections = append(s.connections, g.conn)
	s.mu.Unlock()
	return g
}

// Round carries out f as a round: what it says through say is taken as if it came over a connection, one packet after the other, and then
// the dispatcher decides who may go on. f must not call the Server. Round reports false if the run was over; then f was not called.
func (g *Gate) Round(f func(say func(wire.Packet))) bool {
	s := g.conn.server
	return s.do(func() { f(func(p wire.Packet) { s.packet(g.conn, p) }) })
}

// Lost tells the run that who spoke through the gate is gone: the clients that have joined through it and not left are lost.
func (g *Gate) Lost(why string) {
	s := g.conn.server
	s.do(func() { s.disconnect(g.conn, why) })
}

// Permit lets the run go on to everything before an instant, as the driver of a run does: see Config.Driven. It is called in a round.
func (g *Gate) Permit(until metasim.Instant) {
	s := g.conn.server
	s.permission.driver = until
	s.permit()
}

// Credit tells the dispatcher how far another run can take what a client sends. It is called in a round.
func (g *Gate) Credit(ev *metasim.Credit) {
	if s := g.conn.server; !s.ended {
		s.step(ev)
	}
}

// A gateConn is the connection of a Gate: what is written to it is handed over, and nothing is read from it.
type gateConn struct {
	name string
	told func([]wire.Packet)
}

var _ wire.Direct = (*gateConn)(nil)

func (c *gateConn) Write(packets []wire.Packet) error {
	c.told(packets)
	return nil
}

func (c *gateConn) Read() ([]wire.Packet, error)                   { return nil, io.EOF }
func (c *gateConn) WriteFrames([]byte) error                       { return errors.ErrUnsupported }
func (c *gateConn) Close() error                                   { return nil }
func (c *gateConn) Peer() string                                   { return c.name }
func (c *gateConn) Traffic() wire.Traffic                          { return wire.Traffic{} }
func (c *gateConn) Receive(func(packets []wire.Packet, err error)) {}
func (c *gateConn) Immediate() bool                                { return true }
