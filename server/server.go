package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"metasim/internal/descriptors"
	"metasim/internal/logqueue"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A Server serves one run.
type Server struct {
	config     Config
	records    []Deferred // of the observers
	dispatcher *metasim.Dispatcher
	ledger     *metasim.Ledger
	hashing    *hashing
	log        *slog.Logger
	mail       *mailbox      // what came while another goroutine had the turn
	over       chan struct{} // closed when the run is over
	joined     chan struct{} // closed when all have joined
	visitors   visitors
	now        atomic.Int64 // the dispatcher's Now, in nanoseconds, for Time
	outside    atomic.Bool  // a peer of another process has come

	mu          sync.Mutex
	closed      bool // no goroutine is started any more
	goroutines  sync.WaitGroup
	connections []*connection
	past        wire.Traffic // of connections that were forgotten

	turn       sync.Mutex // guards what follows: the goroutine that holds it runs the dispatcher. See turn.go.
	session    *session.Server
	began      time.Time     // when Serve was called
	wall       time.Duration // since then, as of this round
	timing     timing
	permission permission
	held       *metasim.HeldTimes
	reached    chan metasim.Reached // for the driver
	written    []*connection        // to which this round has something to write
	noted      time.Duration        // when now was last set
	stepped    bool                 // the dispatcher was given an event in this round
	flushing   bool                 // a timer will flush the records
	rounds     time.Duration        // that rounds took since the run began
	wakeups    uint64               // rounds in which it was
	ended      bool                 // the run is over, with err
	err        error
	failing    bool         // a client was lost; the run fails when it is known how its process ended
	detached   bool         // the run went on without a client that was lost
	begun      bool         // of a run that was cut off: it had begun before
	halted     bool         // likewise: it was paused
	permitted  metasim.Time // likewise: how far it was let go by its driver at most
	committing bool         // see durable.go
	refusals   refusals
	unobserved unobserved
}

// visitors are the connections of visitors. One that has ended keeps its place until its transport has surely let go of it.
type visitors struct {
	places chan struct{} // one element for each visitor

	mu      sync.Mutex
	all     []*visitor
	looking bool // a goroutine looks at them
	short   bool // a connection could not be taken in since the last look
}

// A visitor is a connection of a peer that has not shown the token.
type visitor struct {
	connection *connection
	looks      int  // since it came, or since it has ended
	ended      bool // nothing comes from it any more
}

// A memory reads the past of a client that repeats it.
type memory struct {
	past   Past
	conn   *connection
	wanted chan struct{} // the next part
	ended  chan struct{} // nobody needs it any more
}

// A part of a past, as it was read.
type part struct {
	past *session.Past
	last bool
	err  error
}

// New returns a server for one run. Nothing happens before Serve.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.StartTimeout = cmp.Or(c.StartTimeout, DefaultStartTimeout)
	c.OutboxLimit = cmp.Or(c.OutboxLimit, defaultOutboxLimit)
	c.Visitors = cmp.Or(c.Visitors, min(maxVisitors, max(1, descriptors.Limit()/8)))
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.After == nil {
		c.After = func(bool) {}
	}
	d, err := metasim.New(c.Core)
	if err != nil {
		return nil, err
	}
	var every map[string]metasim.Time
	if c.Checkpoints != nil {
		every = c.Checkpoints.Every
	}
	patience := map[string]int64{}
	for name, d := range c.Patience {
		patience[name] = d.Nanoseconds()
	}
	sessions, err := session.NewServer(session.ServerConfig{
		Checkpoints: every, Patience: patience,
		Scenario: c.Scenario, Seed: c.Seed, Token: c.Token, Timed: c.Timed, Names: d.Names(), Until: d.End(),
		About: c.About, Scopes: c.Scopes, Permissions: c.Permissions, Tokens: c.Tokens, Inside: c.Inside,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, dispatcher: d, ledger: metasim.NewLedger(d.Names()), log: logqueue.New(c.Log), mail: newMailbox(), over: make(chan struct{}),
		joined: make(chan struct{}), visitors: visitors{places: make(chan struct{}, c.Visitors)},
		session: sessions, timing: timing{clients: make([]clientTiming, len(d.Names()))}, permission: newPermission(c.Driven), held: metasim.NewHeldTimes(d),
		reached: make(chan metasim.Reached, 1),
	}
	s.hashing = newHashing(s.ledger, s.spawn)
	if c.Resume != nil {
		if err := s.resume(c.Resume); err != nil {
			return nil, err
		}
	}
	for _, o := range c.Observers {
		if r, ok := o.(Deferred); ok {
			s.records = append(s.records, r)
			r.Notify(s.resumeRecord)
		}
	}
	s.turn.Lock() // until Serve
	return s, nil
}

// farewellTime is for how long a peer that does not read may delay the end of Serve.
const farewellTime = 2 * time.Second

// logTime is for how long a log that nobody reads may delay the end of Serve.
const logTime = 200 * time.Millisecond

// Serve runs the simulation until every client has left (nil), or until it fails. When ctx is cancelled the run fails with
// its cause. Serve closes all listeners and connections, and returns when everything has been written that was to be
// written. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	s.began = time.Now().Add(-s.wall) // that of a run that was cut off goes on
	err := s.run(ctx)
	s.observeAll()
	s.session.Farewell(err)
	s.flush()
	s.letGo()
	s.tellRefusals()
	s.turn.Unlock()
	s.config.After(true)
	close(s.over)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	force := time.AfterFunc(farewellTime, func() {
		for _, c := range s.connections {
			_ = c.conn.Close() // its writer waits for the peer; an error tells nothing that the run's error does not
		}
	})
	defer force.Stop()
	for _, c := range s.connections {
		c.outbox.close()
	}
	s.goroutines.Wait()
	logqueue.Flush(s.log, logTime)
	return err
}

// Fail ends the run with an error from outside: a client's process could not be started, for example. It waits until Serve is called.
func (s *Server) Fail(err error) {
	s.do(func() { s.fail(err) })
}

// Exited tells the server that the process of a client has ended, in this life of it, and all that it had started: see Restart.Start. A
// client that has not joined is lost, with why as the cause. For a client that has joined the end of its connection decides.
func (s *Server) Exited(client string, life int, why string) {
	s.do(func() {
		id, known := s.find(client)
		if !known || s.timing.clients[id].lives != life {
			return
		}
		if p := s.session.Presence(id); p == session.Absent || p == session.Away {
			s.gone(id, why)
		}
	})
	s.Suspect(client)
}

// Suspect tells the server that the process of a client has ended. Another one, which it had started, may go on in its place: so a
// connection is asked for a sign of life, and a client that has not joined may still do so.
func (s *Server) Suspect(client string) {
	s.do(func() {
		if id, known := s.find(client); known && s.session.Presence(id) == session.Present {
			if m, ok := s.timing.clients[id].conn.conn.(wire.Mortal); ok {
				m.Suspect()
			}
		}
	})
}

// find returns the client of a name.
func (s *Server) find(client string) (id metasim.ClientID, known bool) {
	i, known := slices.BinarySearch(s.dispatcher.Names(), client)
	return metasim.ClientID(i), known
}

// Joined returns a channel that is closed when all clients have joined. Nobody joins after that, so that listeners may be
// closed.
func (s *Server) Joined() <-chan struct{} { return s.joined }

// Relayed reports whether a client has joined through a relay. If that is lost, its clients come back through another one.
func (s *Server) Relayed() bool {
	s.turn.Lock()
	relayed := slices.ContainsFunc(s.timing.clients, func(a clientTiming) bool { return a.conn != nil && a.conn.session.Relay() != "" })
	s.turn.Unlock()
	s.looked()
	return relayed
}

// Accept takes in connections until the listener is closed, or the run is over: then it closes the listener and returns nil.
// While a connection cannot be taken in because the system is short of something, such as open files, it waits and tries again.
func (s *Server) Accept(l wire.Listener) error {
	accepted := make(chan struct{})
	defer close(accepted)
	watching := s.spawn(func() {
		select {
		case <-s.over:
		case <-accepted:
		}
		_ = l.Close() // an error tells that it is closed already
	})
	if !watching {
		return l.Close()
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		conn, err := accept(l)
		switch {
		case err == nil && s.connect(conn):
			pause = minPause / 2
			continue
		case err == nil:
			return conn.Close()
		case errors.Is(err, net.ErrClosed):
			return nil
		case !short(err):
			select {
			case <-s.over:
				return nil
			default:
				return err
			}
		case pause < maxPause:
			s.log.Warn("a connection cannot be taken in; the run goes on, and it is tried again", "why", err)
		}
		s.visitors.crowd()
		select {
		case <-s.over:
			return nil
		case <-time.After(pause):
		}
	}
}

// ownDescriptors is how many descriptors are left for the run itself: for its record, and to ask how it goes.
const ownDescriptors = 16

// accept takes in the next connection, unless descriptors are scarce.
func accept(l wire.Listener) (wire.Conn, error) {
	if descriptors.Scarce(min(ownDescriptors, descriptors.Limit()/8)) {
		return nil, syscall.EMFILE
	}
	return l.Accept()
}

// short reports whether an error says that the system is short of something, or that a peer went away before it was taken in.
func short(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED},
		func(target error) bool { return errors.Is(err, target) })
}

// How long Accept waits after an error, at first and at most.
const (
	minPause = 10 * time.Millisecond
	maxPause = 100 * time.Millisecond
)

// connect takes in a connection. It reports false when the run is over.
func (s *Server) connect(conn wire.Conn) bool {
	c := &connection{conn: conn, outbox: newOutbox(conn, s.spawn), server: s}
	c.outbox.held = s.config.Durable != nil
	c.session = s.session.Connect(c)
	direct, isDirect := conn.(wire.Direct)
	c.direct = isDirect
	if !isDirect && !s.admit(c) {
		return false
	}
	if !isDirect {
		s.outside.Store(true)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	s.connections = append(s.connections, c)
	if !isDirect {
		s.goroutines.Go(func() { s.read(c) })
	}
	s.mu.Unlock() // Receive may run the dispatcher, which locks it to start a goroutine
	if isDirect {
		direct.Receive(func(packets []wire.Packet, err error) {
			s.session.Prepare(packets)
			s.receive(c, packets, err, true)
		})
	}
	return true
}

// read is the reader of one connection. It waits while the mailbox is full, and so, through the transport, does the peer.
// When the run is over it still reads: a peer that writes would otherwise not read the last message.
func (s *Server) read(c *connection) {
	for {
		packets, err := c.conn.Read()
		s.session.Prepare(packets)
		s.receive(c, packets, err, false)
		if err != nil {
			return
		}
		c.slowDown()
	}
}
