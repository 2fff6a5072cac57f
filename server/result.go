package server

import (
	"time"

	"metasim/metasim"
)

// A Result is what a run came to. It is complete when Serve has returned.
type Result struct {
	Err           error
	Deterministic bool // false when a client was cut off
	Digest        metasim.Digest
	Totals        metasim.Totals
	Wall          time.Duration // from the start (all have joined) to the end
	Clients       []ClientResult
}

// A ClientResult is what a run came to for one client. Clients are in order of name.
type ClientResult struct {
	Name   string
	Digest metasim.Digest
	metasim.Account
	Busy    time.Duration // computing, or on the way: the time it did not wait
	Blocked time.Duration // waiting for authorization
}

// Result returns the result. It is called after Serve.
func (s *Server) Result() Result {
	r := Result{
		Err: s.err, Deterministic: !s.detached, Digest: s.ledger.Digest(), Totals: s.ledger.Totals(),
	}
	for i, name := range s.dispatcher.Names() {
		id := metasim.ClientID(i)
		a := &s.clients[i]
		c := ClientResult{
			Name: name, Digest: s.ledger.ClientDigest(id), Account: s.ledger.Account(id), Blocked: a.blocked,
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
