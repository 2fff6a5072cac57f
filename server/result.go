package server

import (
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// A Result is what a run came to. It is complete when Serve has returned.
type Result struct {
	Err           error
	Deterministic bool // false when a client was cut off, or took part in real time
	Digest        metasim.Digest
	Totals        metasim.Totals
	Wall          time.Duration // from the start (all have joined) to the end
	Clients       []ClientResult

	// How much was said. All of it depends on real time: who is slow finds more waiting for it, and joins it.

	// Traffic is what went over all connections, of those too who were refused.
	Traffic wire.Traffic
	// Wakeups counts the rounds in which the machine was given something: each takes in what has come, decides once who
	// may go on, and writes once to each connection that it has something for. Grants per wake-up tell how much each
	// round brings about.
	Wakeups uint64
}

// A ClientResult is what a run came to for one client. Clients are in order of name.
type ClientResult struct {
	Name   string
	Digest metasim.Digest
	metasim.Account
	Busy    time.Duration // computing, or on the way: the time it did not wait
	Blocked time.Duration // waiting for authorization
	// Traffic is that of the client's connection. Nil where it never joined, or shares its connection.
	Traffic *wire.Traffic
}

// Result returns the result. It is called after Serve.
func (s *Server) Result() Result {
	r := Result{
		Err: s.err, Deterministic: !s.detached && !s.config.Live, Digest: s.ledger.Digest(), Totals: s.ledger.Totals(), Wakeups: s.wakeups,
	}
	alone := s.traffic(&r.Traffic)
	for i, name := range s.dispatcher.Names() {
		id := metasim.ClientID(i)
		a := &s.clients[i]
		c := ClientResult{
			Name: name, Digest: s.ledger.ClientDigest(id), Account: s.ledger.Account(id), Blocked: a.blocked,
			Traffic: alone[a.member],
		}
		if a.end > 0 {
			c.Busy = max(0, a.end-s.start-a.blocked)
		}
		r.Clients = append(r.Clients, c)
	}
	if s.started {
		r.Wall = s.end - s.start
	}
	return r
}

// traffic adds up what went over the connections, and returns that of each member that had one for itself.
func (s *Server) traffic(total *wire.Traffic) map[*member]*wire.Traffic {
	alone := make(map[*member]*wire.Traffic)
	for _, sess := range s.sessions {
		t := sess.conn.Traffic()
		total.Add(t)
		if len(sess.members) == 1 {
			for _, m := range sess.members {
				alone[m] = &t
			}
		}
	}
	return alone
}
