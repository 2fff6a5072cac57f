package server

import (
	"time"

	"metasim/metasim"
)

// A Snapshot is what a run looks like at one moment, for people: no client may see it, and no result may depend on it.
type Snapshot struct {
	Scenario string
	Seed     uint64
	Wall     time.Duration   // since it began to be served
	Running  time.Duration   // since all have joined, pauses included; 0 before
	Paused   time.Duration   // of that, for how long it stood still as it was paused
	Started  bool            // all have joined
	Over     bool            //
	Err      error           // why it failed, once it is over
	Now, End metasim.Instant // nothing is left to happen before Now; the run ends before End
	Halt     Halt
	Totals   metasim.Totals
	Grants   uint64
	Clients  []ClientSnapshot // in order of name

	Took time.Duration // for how long the run could not go on meanwhile
}

// A Halt tells what keeps a run from going on, beside its clients.
type Halt struct {
	Paused bool            // somebody has paused it, or said where it is to be paused
	Limit  metasim.Instant // where; Infinity if not Paused
	Still  bool            // it has come there, or to where its driver wants it to be for now, and all wait
	Driver bool            // its driver wants it to be at an earlier instant than Limit for now
	Next   metasim.Instant // the earliest instant at which something is left to happen then
}

// A State is what a client does, as far as its server knows.
type State uint8

const (
	Absent       State = iota // it has not joined
	Initializing              // it has joined, and not waited yet
	Computing                 // or on its way: it has not said that it waits
	Waiting                   // for authorization
	Left                      //
	Lost                      // cut off
)

func (s State) String() string {
	return [...]string{"absent", "initializing", "computing", "waiting", "left", "lost"}[s]
}

// A ClientSnapshot is what is known of one client.
type ClientSnapshot struct {
	metasim.Status
	State                   State
	Since                   time.Duration // wall, as in Snapshot: when it came into this state, or said something since
	Peer                    string        // its connection, for people; see wire.Conn
	Sent, Delivered, Grants uint64
	Busy, Blocked           time.Duration // so far, as in ClientResult

	Held         bool // somebody holds it back: Holder directly, as Root does not go on
	Holder, Root metasim.ClientID
	Halted       bool // nobody does: the run is paused, or ahead of its driver
}

// Snapshot looks at the run as it is, and keeps it from going on meanwhile: it takes about a microsecond for four clients.
// It waits until Serve is called; after the run it shows its end.
func (s *Server) Snapshot() Snapshot {
	names := s.dispatcher.Names()
	clients := make([]ClientSnapshot, len(names))
	s.turn.Lock()
	began := time.Now()
	s.glance()
	shot := Snapshot{
		Scenario: s.config.Scenario, Seed: s.config.Seed, Wall: s.wall(), Paused: s.pausedFor(), Started: s.started,
		Over: s.ended, Err: s.err, Now: s.dispatcher.Now(), End: s.dispatcher.End(), Totals: s.ledger.Totals(), Clients: clients,
		Halt: Halt{Paused: s.hold.limit != metasim.Infinity, Limit: s.hold.limit, Still: s.hold.still, Next: s.hold.next,
			Driver: s.hold.allowed.Before(s.hold.limit)},
	}
	if s.started {
		shot.Running = s.wall() - s.start
	}
	for i := range clients {
		clients[i] = s.client(metasim.ClientID(i))
		shot.Grants += clients[i].Grants
	}
	s.findRoots(clients)
	shot.Took = time.Since(began)
	s.turn.Unlock()
	s.catchUp()
	return shot
}

// glance looks at the clock, unless the run is over: then it stands.
func (s *Server) glance() {
	if !s.ended {
		s.tick()
	}
}

func (s *Server) client(id metasim.ClientID) ClientSnapshot {
	a := &s.clients[id]
	account := s.ledger.Account(id)
	c := ClientSnapshot{
		Status: s.dispatcher.Status(id), State: a.state(), Since: max(a.since, a.heard), Sent: account.Sent,
		Delivered: account.Delivered, Grants: account.Grants, Blocked: a.blocked,
	}
	if a.member != nil {
		c.Peer = a.member.session.conn.Peer()
	}
	if a.waiting {
		c.Blocked += s.wall() - a.since
	}
	if s.started {
		end := a.end
		if end == 0 {
			end = s.wall()
		}
		c.Busy = max(0, end-s.start-c.Blocked)
	}
	return c
}

func (a *attendance) state() State {
	switch {
	case a.lost:
		return Lost
	case a.member == nil:
		return Absent
	case a.member.left:
		return Left
	case a.waiting:
		return Waiting
	case !a.polled:
		return Initializing
	}
	return Computing
}

// Progress tells whether anything happens: Heard counts what clients have said so far. Held says that nothing can, as the
// run is paused, or ahead of its driver.
type Progress struct {
	Heard      uint64
	Paused     time.Duration // as in Snapshot
	Held, Over bool
}

// Progress is a Snapshot that costs nothing. It waits until Serve is called.
func (s *Server) Progress() Progress {
	s.turn.Lock()
	s.glance()
	p := Progress{Heard: s.heard, Paused: s.pausedFor(), Held: s.hold.still, Over: s.ended}
	s.turn.Unlock()
	s.catchUp()
	return p
}
