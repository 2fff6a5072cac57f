package server

import (
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// A Result is the result of a run. It is complete when Serve has returned.
type Result struct {
	Err           error
	Deterministic bool // false when a client was cut off, or took part in real time
	Digest        metasim.Digest
	Totals        metasim.Totals
	Wall          time.Duration // from the start (all have joined) to the end
	Clients       []ClientResult

	// Traffic is what went over all connections, also over those of refused clients. It depends on real time: more messages
	// share a frame if a peer is slow to read.
	Traffic wire.Traffic
	// Wakeups counts the rounds in which the dispatcher was given something: a round takes what has come, decides once which
	// clients may go on, and writes once to each connection. Grants per wake-up say how much a round achieves. It depends on
	// real time too.
	Wakeups uint64
}

// A ClientResult is the result of one client. Clients are in order of name.
type ClientResult struct {
	Name   string
	Digest metasim.Digest
	metasim.Account
	Busy    time.Duration // not waiting: computing, or with a message on its way
	Blocked time.Duration // waiting for authorization
	// Traffic is that of the client's connection. Nil if it never joined, or shares its connection.
	Traffic *wire.Traffic
}

// Result returns the result. It is called after Serve.
func (s *Server) Result() Result {
	r := Result{
		Err: s.err, Deterministic: !s.detached && !s.config.Live, Digest: s.ledger.Digest(), Totals: s.ledger.Totals(), Wakeups: s.wakeups,
	}
	for i, name := range s.dispatcher.Names() {
		id := metasim.ClientID(i)
		a := &s.timing.clients[i]
		c := ClientResult{Name: name, Digest: s.ledger.ClientDigest(id), Account: s.ledger.Account(id), Blocked: a.blocked}
		if a.end > 0 {
			c.Busy = max(0, a.end-s.timing.start-a.blocked)
		}
		if a.conn != nil && len(a.conn.clients) == 1 {
			t := a.conn.conn.Traffic()
			c.Traffic = &t
		}
		r.Clients = append(r.Clients, c)
	}
	for _, c := range s.connections {
		r.Traffic.Add(c.conn.Traffic())
	}
	if s.session.Started() {
		r.Wall = s.timing.end - s.timing.start
	}
	return r
}
