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
	"time"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A Server serves one run.
type Server struct {
	config     Config
	dispatcher *metasim.Dispatcher
	ledger     *metasim.Ledger
	log        *slog.Logger
	mail       *mailbox      // what came while another goroutine had the turn
	over       chan struct{} // closed when the run is over
	now        atomic.Int64  // the dispatcher's Now, in nanoseconds, for Time

	mu          sync.Mutex
	closed      bool // no goroutine is started any more
	goroutines  sync.WaitGroup
	connections []*connection

	turn       sync.Mutex // guards what follows: the goroutine that holds it runs the dispatcher. See turn.go.
	session    *session.Server
	began      time.Time     // when Serve was called
	wall       time.Duration // since then, as of this round
	timing     timing
	permission permission
	reached    chan metasim.Reached // for the driver
	written    []*connection        // to which this round has something to write
	noted      time.Duration        // when now was last set
	stepped    bool                 // the dispatcher was given an event in this round
	wakeups    uint64               // rounds in which it was
	ended      bool                 // the run is over, with err
	err        error
	failing    bool // a client was lost; the run fails when it is known how its process ended
	detached   bool // the run went on without a client that was lost
}

// New returns a server for one run. Nothing happens before Serve.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.StartTimeout = cmp.Or(c.StartTimeout, DefaultStartTimeout)
	c.OutboxLimit = cmp.Or(c.OutboxLimit, defaultOutboxLimit)
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
	sessions, err := session.NewServer(session.ServerConfig{
		Scenario: c.Scenario, Seed: c.Seed, Token: c.Token, Timed: c.Timed, Names: d.Names(), Until: d.End(),
	})
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, dispatcher: d, ledger: metasim.NewLedger(d.Names()), log: c.Log, mail: newMailbox(), over: make(chan struct{}),
		session: sessions, timing: timing{clients: make([]clientTiming, len(d.Names()))}, permission: newPermission(c.Driven),
		reached: make(chan metasim.Reached, 1),
	}
	s.turn.Lock() // until Serve
	return s, nil
}

// farewellTime is for how long a peer that does not read may delay the end of Serve.
const farewellTime = 2 * time.Second

// Serve runs the simulation until every client has left (nil), or until it fails. When ctx is cancelled the run fails with
// its cause. Serve closes all listeners and connections, and returns when everything has been written that was to be
// written. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	s.began = time.Now()
	err := s.run(ctx)
	s.session.Farewell(err)
	s.flush()
	s.turn.Unlock()
	s.config.After(true)
	close(s.over)
	s.mail.close()
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
	return err
}

// Fail ends the run with an error from outside: a client's process could not be started, for example.
func (s *Server) Fail(err error) {
	s.do(func() { s.fail(err) })
}

// Exited tells the server that the process of a client has ended. A client that has not joined is lost, with why as the
// cause. For a client that has joined the end of its connection decides.
func (s *Server) Exited(client, why string) {
	s.do(func() {
		i, known := slices.BinarySearch(s.dispatcher.Names(), client)
		if id := metasim.ClientID(i); known && s.session.Presence(id) == session.Absent {
			s.lost(id, why)
		}
	})
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
		_ = l.Close() // an error tells that it is closed already
	})
	if !watching {
		return l.Close()
	}
	for {
		conn, err := l.Accept()
		if err != nil {
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
		if !s.connect(conn) {
			return conn.Close()
		}
	}
}

// connect takes in a connection. It reports false when the run is over.
func (s *Server) connect(conn wire.Conn) bool {
	c := &connection{conn: conn, outbox: newOutbox(conn, s.spawn), server: s}
	c.session = s.session.Connect(c)
	direct, isDirect := conn.(wire.Direct)
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
		direct.Receive(func(packets []wire.Packet, err error) { s.receive(c, packets, err, true) })
	}
	return true
}

// read is the reader of one connection. It waits while the mailbox is full, and so, through the transport, does the peer.
// When the run is over it still reads: a peer that writes would otherwise not read the last message.
func (s *Server) read(c *connection) {
	for {
		packets, err := c.conn.Read()
		s.receive(c, packets, err, false)
		if err != nil {
			return
		}
	}
}
