package client

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"metasim/client/internal/sched"
	"metasim/internal/slab"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
	"metasim/wire/transport"
)

// A Message is one that a client was given.
type Message = session.Message

// A Timer is a call at an instant that is to come, in Run. Stop makes it fire no more; its own handler may call it.
type Timer = session.Timer

var (
	// ErrEnd is returned by Step and Next when the run ends before the instant they are to reach. It is how a run ends well:
	// Leave then, and return nil.
	ErrEnd = session.ErrEnd
	// ErrLeft is returned for whatever a client is asked to do after it left.
	ErrLeft = session.ErrLeft
	// ErrInterrupted is returned by a call that has waited with a context of Interruptible, which has ended. Call the same again, or Leave.
	ErrInterrupted = errors.New("the wait was interrupted, and the client is where it was")
	// ErrComplete is returned for a channel that is added to a client which has joined: others rely on what it declared.
	ErrComplete = session.ErrComplete
)

// A Builder gathers what a client declares before it joins.
type Builder struct {
	name          string
	declared      session.Declaration
	pubs          []*Publication
	subscriptions []subscription
	inputs        []Input
	saver         Saver // nil: it makes no checkpoints
}

// A subscription is what a client does with the messages that match it.
type subscription struct {
	handle func(Message) error // in Run; nil: nothing
	input  Input               // nil: Step and Next return them
}

// An Input takes the messages of a subscription, however the client advances: see Builder.Input. A checkpoint of the client has what
// Save returns; an error leaves the checkpoint out.
type Input interface {
	Saver
	// Take is called with each message, in order, at the instant at which the client is given it. An error is returned by the Step,
	// Next or Run that called it.
	Take(m Message) error
}

// A Saver is a simulator whose state can be written down, and which can begin there: see Builder.Checkpoints.
type Saver interface {
	// Save returns all that decides what the simulator will do. An error leaves this checkpoint out; the run goes on.
	Save() ([]byte, error)
	// Restore begins at what Save has returned. An error ends the client.
	Restore(state []byte) error
}

// A Publication is a channel that a client sends on.
type Publication struct {
	channel string
	client  *Client // nil before Complete
	err     error
}

// An Option says how a client reaches its server where the environment does not, or should not.
type Option func(*options)

type options struct {
	url, token, name string
	alone            bool // the process was started to be this client
	conn             wire.Conn
	transports       transport.Table // nil: the default
	host             *Host
	task             *sched.Task
	log              *slog.Logger
	patience         time.Duration // that the server has to begin to listen
}

// About is what a client is told of the run and of its part in it.
type About struct {
	Scenario string // the name of the scenario
	Seed     uint64 // of the run; Client.Rand has generators that are keyed by it
	Entry    string // the name of the scenario's entry: "robot" of a client "robot-2"
	Index    int    // which of the clients of that entry it is, from 0
	Count    int    // how many there are; 1 for an entry without a count
	// With has the parameters of the entry, as JSON: what the scenario says in with. It is empty where that says none.
	With json.RawMessage
	// Directory is the run directory, where the client may put files of its own: on the server's host. Empty where there is none, as in a
	// replay: then write no files.
	Directory string
}

// A Client is one simulator's part in a run. It is not safe for concurrent use.
//
// The rules of its session are in package session; here are its connection, its goroutine or coroutine, and its clock.
type Client struct {
	rules         *session.Client // what may put something into out is called with out's lock
	subscriptions []subscription
	inputs        []Input
	saver         Saver // nil: it makes no checkpoints
	log           *slog.Logger
	routes        map[string]route
	unread        []Message       // that came during an Await, and that Step, Next or Run is still to return
	restored      bool            // it was restored, and has not advanced since
	giving        metasim.Instant // when the message arrived that an input is given by a Step or Next; else the start
	loop          loop            // of Steps
	own           bool            // no other client is on its host
	alone         bool            // nor in the process, as far as the environment tells
	in            inbox
	out           outbox
	watch         stopwatch
	waiting       atomic.Bool                          // a goroutine waits for the server
	dial          func(context.Context) (*Host, error) // the server again; nil: it cannot come back
	patience      time.Duration                        // for how long it does so before the server has let it in
	lives         int                                  // how many servers it has lost
	detached      bool                                 // it has nothing to do with its host any more
	result        func() any                           // OnLeave
	over          error                                // the error that calls return after the end of the session; nil until a call has returned it
}

// A route says where the messages of one channel go.
type route struct {
	take   []func(Message) error // of inputs
	handle []func(Message) error
	shown  bool // Step and Next return them
}

// A loop is that of Steps, while it goes on.
type loop struct {
	on   bool
	body bool         // its body has the word, or did not have it yet
	at   metasim.Time // where it has put the client
}

// A Host is a connection that many clients of one process share: see WithHost. What they send at the same time goes out
// in one write, and what the server has for them comes in in one read, so a thousand clients cost little more than one.
//
// A Host may be used by many goroutines; each client on it by one.
type Host struct {
	lineage *lineage // nil: it is one client's own, or its server is not reached again
	conn    wire.Conn
	direct  bool          // the connection hands over at once, so nothing is to be gathered
	own     wire.Prompt   // set where one client has the connection for itself, and reads it
	done    chan struct{} // closed when no goroutine reads any more
	names   session.Names // used by the goroutine that reads

	mu         sync.Mutex
	inboxes    map[uint32]*sharedInbox
	schedulers []*sched.Scheduler // that have clients here
	next       uint32             // number of the next member
	err        error              // why nothing comes any more
	room       sync.Cond
	encoder    wire.Encoder
	writeLater func() error // writeOut, as the schedulers take it
	frames     wire.Frames  // to be written
	written    wire.Frames  // of the write before
	use        slab.Use     // of the memory of both
	writing    bool         // a goroutine writes, also what is put meanwhile
	broken     error        // why nothing can be written any more
}

// A lineage is a Host and those that follow it: where the server is lost, the first client that reaches it again brings a new connection, which all
// clients of the old one share.
type lineage struct {
	dial func(context.Context) (wire.Conn, error)

	dialing sync.Mutex
	failed  error        // of the last dial that has failed; guarded by dialing
	dials   atomic.Int64 // that have failed

	mu     sync.Mutex
	last   *Host
	closed bool // by Close
}

// A Scheduler carries out many clients of one process without a change of goroutine each time that one of them waits and
// another may go on: each client is a coroutine, and the workers of the scheduler resume one after the other. A client is
// written as everywhere: it calls Step, Next or Run, and where it would wait its worker turns to the next one.
//
//	s := client.NewScheduler()
//	for _, m := range models {
//		s.Go(func(scheduled client.Option) { ... b.Complete(ctx, client.WithHost(host), scheduled) ... })
//	}
//	s.Wait()
//
// Clients that compute for long get a worker each, so as many compute at once as there are processors; those that only
// answer share one, as handing them to another costs more than the answer. What they say before they wait, over a
// connection that they share, is written when none of them can go on.
//
// A client of a scheduler may be resumed by one goroutine now and by another later. What blocks beside the client's own
// calls blocks its worker.
type Scheduler struct{ tasks *sched.Scheduler }

// An inbox is how a client hears from the server. One goroutine uses it.
type inbox interface {
	// take returns what has come, without waiting; nil for nothing. It is valid until the next call. The error comes after
	// everything else.
	take() (*session.Inbound, error)
	// wait waits until there is something to take, and takes it.
	wait(ctx context.Context) (*session.Inbound, error)
	// unread reports whether the connection has not been read for long. A client that writes must also read: a server
	// drops a peer that asks and does not read.
	unread() bool
	// forget lets the context of the last wait go.
	forget()
}

// An ownInbox belongs to a client with a connection of its own: it reads the connection itself, when it waits, so that
// what comes costs no change of goroutine.
type ownInbox struct {
	conn   wire.Prompt
	names  session.Names
	came   session.Inbound
	err    error
	read   time.Time    // when it was last read
	looks  int          // how many more looks are worth their cost
	passed int          // how many looks were left out
	beside chan arrival // a goroutine reads, which an interrupted wait has left; nil: none
	contextWatch

	mu      sync.Mutex
	waiting <-chan struct{} // the end of the context that must wake a Read; nil: none reads
}

// An arrival is what a Read returned.
type arrival struct {
	packets []wire.Packet
	err     error
}

// A sharedInbox belongs to a client whose connection another goroutine reads. Any goroutine may put.
type sharedInbox struct {
	mu      sync.Mutex
	changed sync.Cond
	came    *session.Inbound
	taken   *session.Inbound // memory of the take before
	err     error
	contextWatch

	task     *sched.Task // to be notified instead of a goroutine; may be nil
	assisted bool        // the goroutine that puts calls Assist afterwards
}

// A contextWatch calls a function when a context ends. Simulators use one context for many waits, so it is kept.
type contextWatch struct {
	done    <-chan struct{}
	unwatch func() bool
}

// A cancelledError says that a wait ended because its context did.
type cancelledError struct{ cause error }

// An outbox writes what a client has to say, at once or when it has waited for long enough.
type outbox struct {
	host *Host
	task *sched.Task // of a scheduler; may be nil

	mu    sync.Mutex // the timer writes too
	queue session.Outbound
	clock time.Time // when the queue's clock began
	armed bool      // the timer is set
	timer *time.Timer
	err   error // of a write, until the client asks
	wrote bool  // since it was last asked
}

// A stopwatch measures how long a client computes: the time between a grant and the next wait. It reads the wall clock and,
// if the client has a process of its own, for each long stretch of that time the processor time of that process, and how long the client
// waited for a core. It is off unless the server asks for it.
//
// What it shows is for reports on how parallel a run was. It reaches no result.
type stopwatch struct {
	began    time.Time // of the run, for this client; zero: it is off
	alone    bool      // no other client is in the process: its processor time is the client's
	coreWait bool      // it looks up for how long the client waits for a core
	since    int64     // when the client went on, or reported last; nanoseconds from the beginning
	owed     int64     // computed, and not reported yet
	told     bool      // a report was made, so that a report of nothing means that it is little
	stretch  stretch
	threads  threads
}

// A stretch is what a client computes from when it went on, or from a report with its processor time, to the next such report.
type stretch struct {
	began  int64 // nanoseconds from the beginning
	long   looks // at the processor time
	slow   looks // at the time without a core
	timed  bool  // spent is known
	spent  int64 // processor time when it began, in nanoseconds
	marked bool  // its time without a core is known at its end
}

// looks is what long stretches have paid for looks at the next ones, in nanoseconds: a fiftieth of the time that they took. So a client whose
// long stretches have short ones between them is looked at all the time, and a client without long ones never.
type looks int64

// threads know for how long the threads of this process have waited for a core, and computed.
type threads struct {
	dir    *os.File // that lists them; nil: not open
	all    map[string]*thread
	marked string // the thread of the client at the last mark
}

// A thread has a file that says for how long it has waited and computed.
type thread struct {
	file   *os.File
	waited int64 // at the last look, in nanoseconds
	spent  int64 // processor time at the last look, in nanoseconds
}

// A namedError says which client an error is about.
type namedError struct {
	client string
	err    error
}
