package server

import (
	"time"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A Snapshot is the state of a run at one moment, for people: no client may see it, and no result may depend on it.
type Snapshot struct {
	Scenario string
	Seed     uint64
	Wall     time.Duration   // since it began to be served
	Running  time.Duration   // since all have joined, pauses included; 0 before
	Paused   time.Duration   // of that, for how long it stood still because of a pause
	Started  bool            // all have joined
	Over     bool            //
	Err      error           // why it failed, once it is over
	Now, End metasim.Instant // nothing is left to happen before Now; the run ends before End
	Reached  metasim.Time    // Now; in a run with a rate, that rate times Running without Paused where that is less
	Halt     Halt
	Totals   metasim.Totals
	Grants   uint64
	Clients  []ClientSnapshot // in order of name
	Record   RecordWait

	Took time.Duration // for how long the snapshot kept the run from going on
}

// A Halt tells how far a run is permitted to go.
type Halt struct {
	Paused bool            // the run is paused, or will be at Limit
	Limit  metasim.Instant // where; Infinity if not Paused
	Still  bool            // everything permitted has happened, and all clients wait
	Driver bool            // the driver has not allowed the run to come as far as Limit yet
	Next   metasim.Instant // if Still: the earliest instant at which something is left to happen
}

// A RecordWait tells whether a run waits for an observer that writes too slowly, as a journal on a disk that hangs: see Deferred.
type RecordWait struct {
	Now   bool
	Since time.Duration // in Snapshot.Wall; if Now
	Total time.Duration // for how long it has waited so far
}

// A State is what a client does, as far as its server knows.
type State uint8

const (
	Absent       State = iota // it has not joined
	Initializing              // it has joined, and not waited yet
	Computing                 // it has not said that it waits
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
	Since                   time.Duration // in Snapshot.Wall: when it came into this state, or last sent something
	Peer                    string        // its connection, for people; see wire.Conn
	Sent, Delivered, Grants uint64
	Busy, Blocked, Starved  time.Duration // so far, as in ClientResult
	Spent                   time.Duration // so far: what it says that it computed, in processor time where it knows that; 0 unless Config.Timed
	HeldOthers              time.Duration // so far: see metasim.HeldTimes
	Restarts                int           // how often its process was replaced
	Checkpoints             int           // that were kept of it
	CatchesUp               bool          // its process was replaced, and has not come yet to where the old one was

	Held         bool             // it waits for Holder, which may wait for others; Root is the last of them, which waits for no client of this run
	Holder, Root metasim.ClientID //
	Halted       metasim.Reason   // it waits for no client of this run: Paused, see Snapshot.Halt; or NoCredit, for the run around this one
}

// Snapshot returns the state of the run. The run does not go on meanwhile: for about a microsecond with four clients. It
// waits until Serve is called. After the run it returns the last state.
func (s *Server) Snapshot() Snapshot {
	names := s.dispatcher.Names()
	clients := make([]ClientSnapshot, len(names))
	s.turn.Lock()
	s.observeAll()
	s.endTurn() // an observer may have failed: the main loop sees that
	began := time.Now()
	s.readClock()
	s.held.Until(int64(s.wall))
	shot := Snapshot{
		Scenario: s.config.Scenario, Seed: s.config.Seed, Wall: s.wall, Paused: s.permission.pausedFor(s.wall), Started: s.session.Started(),
		Over: s.ended, Err: s.err, Now: s.dispatcher.Now(), End: s.dispatcher.End(), Totals: s.ledger.Totals(), Clients: clients,
		Halt: Halt{Paused: s.permission.pause != metasim.Infinity, Limit: s.permission.pause, Still: s.permission.still, Next: s.permission.next,
			Driver: s.permission.driver.Before(s.permission.pause)},
		Record: RecordWait{Now: s.timing.recordFull, Since: s.timing.recordSince, Total: s.timing.recordTimeAt(s.wall)},
	}
	shot.Reached = s.permission.reached(shot.Now.Time, s.wall)
	if shot.Started {
		shot.Running = s.wall - s.timing.start
	}
	for i := range clients {
		clients[i] = s.client(metasim.ClientID(i))
		shot.Grants += clients[i].Grants
	}
	s.findRoots(clients)
	shot.Took = time.Since(began)
	s.turn.Unlock()
	s.looked()
	return shot
}

func (s *Server) client(id metasim.ClientID) ClientSnapshot {
	a := &s.timing.clients[id]
	account := s.ledger.Account(id)
	c := ClientSnapshot{
		Status: s.dispatcher.Status(id), State: s.state(id), Since: max(a.since, a.heard), Sent: account.Sent,
		Delivered: account.Delivered, Grants: account.Grants, Spent: a.spent, Blocked: a.blockedFor(s.wall),
		Starved: a.starvedFor(s.wall), HeldOthers: time.Duration(s.held.By(id)),
		Restarts: a.restarts, Checkpoints: a.checkpoints, CatchesUp: s.session.Presence(id) == session.Away || s.session.Repeats(id),
	}
	if a.conn != nil {
		c.Peer = a.conn.conn.Peer()
	}
	if s.session.Started() {
		end := a.end
		if end == 0 {
			end = s.wall
		}
		c.Busy = max(0, end-s.timing.start-c.Blocked)
	}
	return c
}

func (s *Server) state(id metasim.ClientID) State {
	a := &s.timing.clients[id]
	switch presence := s.session.Presence(id); {
	case presence == session.Lost:
		return Lost
	case presence == session.Absent:
		return Absent
	case presence == session.Left:
		return Left
	case a.waiting:
		return Waiting
	case !a.polled:
		return Initializing
	}
	return Computing
}

// A Progress tells whether anything happens in a run.
type Progress struct {
	Heard  uint64        // packets that clients have sent so far
	Paused time.Duration // as in Snapshot
	Still  bool          // nothing can happen: the run is paused, or its driver has not allowed more
	Over   bool
}

// Progress returns a small part of a Snapshot, at once. It waits until Serve is called.
func (s *Server) Progress() Progress {
	s.turn.Lock()
	s.readClock()
	p := Progress{Heard: s.timing.heard, Paused: s.permission.pausedFor(s.wall), Still: s.permission.still, Over: s.ended}
	s.turn.Unlock()
	s.looked()
	return p
}

// maxHops is how many steps of chains a Snapshot follows. It leaves out clients beyond that.
const maxHops = 1 << 15

// Blame returns why a client waits, or would wait: see metasim.Dispatcher.Blame. It waits until Serve is called.
func (s *Server) Blame(id metasim.ClientID) []metasim.Hold {
	s.turn.Lock()
	chain := s.dispatcher.Blame(nil, id)
	s.turn.Unlock()
	s.looked()
	return chain
}

// findRoots sets Held, Holder, Root and Halted of the clients that wait. All clients on a chain have the same root, so each
// step of a chain is followed once.
func (s *Server) findRoots(clients []ClientSnapshot) {
	var chain []metasim.Hold
	hops := 0
	for i := range clients {
		c := &clients[i]
		if c.State != Waiting || c.Held || hops > maxHops {
			continue
		}
		if chain = s.dispatcher.Blame(chain[:0], metasim.ClientID(i)); len(chain) == 0 {
			continue
		}
		hops += len(chain)
		root := chain[len(chain)-1]
		if root.Reason == metasim.Paused || root.Reason == metasim.NoCredit {
			clients[root.To].Halted = root.Reason
			chain = chain[:len(chain)-1]
		}
		for _, h := range chain {
			to := &clients[h.To]
			to.Held, to.Holder, to.Root = true, h.From, root.From
		}
	}
}

// A Result is the result of a run. It is complete when Serve has returned.
type Result struct {
	Err           error
	Deterministic bool // false when a client was cut off, or took part in real time
	Digest        metasim.Digest
	SendsDigest   metasim.Digest
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
	// Rounds is how long these rounds took since all clients had joined: dispatching and writing, not reading.
	Rounds time.Duration
	// Held is how many bytes the messages took at most that were sent and not handled, as metasim.Config.Memory counts them, and
	// Memory the bound on it; 0 for none. What had to be on its way at one time may have taken more. It depends on real time.
	Held, Memory int
	// RecordWait is for how long the run waited for an observer: see Deferred.
	RecordWait time.Duration
}

// A ClientResult is the result of one client. Clients are in order of name.
type ClientResult struct {
	Name   string
	Digest metasim.Digest
	metasim.Account
	Sends   uint64        // a hash of what it has sent: see metasim.Ledger.SendsOf
	Busy    time.Duration // not waiting: computing, or with a message on its way
	Blocked time.Duration // waiting for authorization
	Starved time.Duration // of that, waiting for memory: see metasim.Config.Memory
	// HeldOthers is for how long others waited for it: see metasim.HeldTimes.
	HeldOthers time.Duration
	// Restarts is how often its process was replaced: see Restart.
	Restarts int
	// Checkpoints is how many were kept of it.
	Checkpoints int
	// Traffic is that of the client's connection. Nil if it never joined, or shares its connection.
	Traffic *wire.Traffic
}

// Result returns the result. It is called after Serve.
func (s *Server) Result() Result {
	r := Result{
		Err: s.err, Deterministic: !s.detached && !s.config.Live, Digest: s.ledger.Digest(),
		SendsDigest: s.ledger.SendsDigest(), Totals: s.ledger.Totals(), Wakeups: s.wakeups, Rounds: s.rounds,
		Held: s.dispatcher.Held(), Memory: s.config.Core.Memory, RecordWait: s.timing.recordTime,
	}
	for i, name := range s.dispatcher.Names() {
		id := metasim.ClientID(i)
		a := &s.timing.clients[i]
		c := ClientResult{Name: name, Digest: s.ledger.ClientDigest(id), Account: s.ledger.Account(id), Sends: s.ledger.SendsOf(id), Blocked: a.blocked, Starved: a.starved, HeldOthers: time.Duration(s.held.By(id)), Restarts: a.restarts, Checkpoints: a.checkpoints}
		if a.end > 0 {
			c.Busy = max(0, a.end-s.timing.start-a.blocked)
		}
		if a.conn != nil && len(a.conn.clients) == 1 {
			t := a.conn.conn.Traffic()
			c.Traffic = &t
		}
		r.Clients = append(r.Clients, c)
	}
	r.Traffic = s.past
	for _, c := range s.connections {
		r.Traffic.Add(c.conn.Traffic())
	}
	if s.session.Started() {
		r.Wall = s.timing.end - s.timing.start
	}
	return r
}
