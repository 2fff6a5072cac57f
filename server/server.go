package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// A Server serves one run.
type Server struct {
	config     Config
	dispatcher *metasim.Dispatcher
	ledger     *metasim.Ledger
	log        *slog.Logger

	turn    sync.Mutex    // held by who runs the machine; before Serve and after it, by nobody who may
	mail    *mailbox      // what came while somebody else had the turn
	knocked chan struct{} // wakes the keeper
	over    chan struct{} // closed when the run is over
	now     atomic.Int64  // the dispatcher's Now, in nanoseconds, for Time

	mu       sync.Mutex
	closed   bool // no goroutine is started any more
	shells   sync.WaitGroup
	sessions []*session

	// What follows belongs to who has the turn.
	began    time.Time
	pass     time.Duration // since then, as of this pass
	looked   time.Duration // when Time was last noted
	started  bool
	start    time.Duration // when it started: all have joined
	end      time.Duration // when it was over
	joined   int
	clients  []attendance
	ids      map[string]metasim.ClientID
	touched  []*session // sessions that this pass has something for
	hold     hold
	heard    uint64 // packets
	reached  chan metasim.Reached
	given    bool   // the machine was given something in this round
	wakeups  uint64 // rounds in which it was
	ended    bool
	err      error
	dying    bool // a client was lost that the run cannot do without; its obituary is being written
	detached bool
}

// attendance is what the shell knows of one client.
type attendance struct {
	member  *member
	blocked time.Duration // time spent waiting for authorization
	since   time.Duration // when it began to wait, or was told to go on
	heard   time.Duration // when it last said something
	end     time.Duration // when it left, or the run ended
	waiting bool
	polled  bool // it has initialized
	lost    bool
}

// New returns a server for one run. Nothing happens before Serve.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	if c.OutboxLimit == 0 {
		c.OutboxLimit = DefaultOutboxLimit
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	d, err := metasim.New(c.Core)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(wire.Check(wire.Packet{Body: wire.Welcome{Scenario: c.Scenario}}), checkNames(d.Names())); err != nil {
		return nil, err
	}
	s := &Server{
		config: c, dispatcher: d, ledger: metasim.NewLedger(d.Names()), log: c.Log,
		mail: newMailbox(), knocked: make(chan struct{}, 1), over: make(chan struct{}),
		clients: make([]attendance, len(d.Names())), ids: make(map[string]metasim.ClientID, len(d.Names())),
		reached: make(chan metasim.Reached, 1), hold: newHold(c.Driven),
	}
	for i, name := range d.Names() {
		s.ids[name] = metasim.ClientID(i)
	}
	s.turn.Lock() // nothing happens before Serve
	return s, nil
}

// farewellTime is how long a peer that does not read may keep a run that is over from ending.
const farewellTime = 2 * time.Second

// Serve runs the simulation: until every client has left (nil), or it failed. When ctx is cancelled the run fails with
// its cause. It closes all listeners and connections, and returns when all has been written that was to be. It is
// called once.
func (s *Server) Serve(ctx context.Context) error {
	s.began = time.Now()
	err := s.keep(ctx)
	s.farewell(err)
	s.turn.Unlock()
	s.after(true)
	close(s.over)
	s.mail.close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	force := time.AfterFunc(farewellTime, func() {
		for _, sess := range s.sessions {
			// Its writer is stuck; the run's error, if any, is known already.
			_ = sess.conn.Close()
		}
	})
	defer force.Stop()
	for _, sess := range s.sessions {
		sess.outbox.close()
	}
	s.shells.Wait()
	return err
}

// spawn starts a goroutine that Serve waits for. It reports false when the run is over.
func (s *Server) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.shells.Go(f)
	}
	return !s.closed
}

// Fail ends the run with an error, from outside: a client's process could not be started, say.
func (s *Server) Fail(err error) {
	s.order(func() { s.fail(err) })
}

// Exited tells the server that a client's process has ended. If it never joined it is lost, and why is the cause; if it
// has joined, its connection tells.
func (s *Server) Exited(client string, why string) {
	s.order(func() {
		if id, ok := s.ids[client]; ok && s.clients[id].member == nil {
			s.lost(id, why)
		}
	})
}

// tick begins a pass: one look at the clock serves all of it.
func (s *Server) tick() { s.pass = time.Since(s.began) }

// wall is the time since the run began to be served, as of this pass.
func (s *Server) wall() time.Duration { return s.pass }
