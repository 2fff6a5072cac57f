package server

import (
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A connection is one connection, as long as the run lasts. The turn guards it.
type connection struct {
	server   *Server
	conn     wire.Conn
	session  *session.Conn
	outbox   *outbox
	clients  []metasim.ClientID // that have joined on it
	batch    []wire.Packet      // what this round has for it
	use      usage              // of the memory of batch
	queued   bool               // it is in Server.written
	heard    uint64             // packets received
	known    uint64             // packets received when its outbox last exceeded OutboxLimit; more since then means that the peer still asks
	answered bool               // this round authorizes a member that waits
	answer   uint64             // up to here, in bytes ever put into the outbox, the last such answer goes
	watched  bool               // a timer will look whether the peer reads
}

// minBatch is for how many packets a connection always keeps memory.
const minBatch = 8

// Put adds a packet to what this round has for the connection.
func (c *connection) Put(p wire.Packet) {
	c.batch = append(c.batch, p)
	if !c.queued {
		c.queued = true
		c.server.written = append(c.server.written, c)
	}
}

// flush puts into the outbox what this round has for the connection. It returns how many bytes waited there before, and
// how many wait now.
func (c *connection) flush() (before, after int, err error) {
	before, after, err = c.outbox.put(c.batch)
	if c.answered {
		c.answered, c.answer = false, c.outbox.total
	}
	clear(c.batch)
	c.batch, c.queued = reuse(c.batch, &c.use, minBatch), false
	return before, after, err
}

// asks reports whether the peer has sent something since its outbox exceeded OutboxLimit, or has not read the answer to
// what it sent before.
func (c *connection) asks() bool { return c.heard > c.known || c.outbox.taken() < c.answer }
