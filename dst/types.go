package dst

import (
	"math/rand/v2"

	"metasim/delay"
	"metasim/federates/gateway"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/record/past"
	"metasim/wire"
	"metasim/wire/session"
)

// Schedules is in how many orders each scenario is run.
const Schedules = 4

// A Result counts what there was in runs.
type Result [counts]int

// The places of a Result.
const (
	countClients = iota
	countLeft
	countSent
	countHandled
	countHappened
	countSlow
	countShort
	countDriven
	countLost
	countFailed
	countDetached
	countRestarted
	countAlone
	countShared
	countSaved
	countBegun
	countCrashes
	countTorn
	countReturned
	countNested
	countCrossed
	countNestedAgain
	counts
)

// A scenario is everything that may decide what clients see, and nothing else.
type scenario struct {
	seed    uint64
	clients []spec // in order of name
	until   metasim.Time
	delays  *delay.Table
	permits bool  // the run is driven in stretches
	sees    []int // how much each client sees and does
	flood   bool  // it is there for the bound on memory: one client sends far more than another takes in
	memory  int   // 0: each run has another bound
}

// A style is a way of being a client.
type style uint8

const (
	steps   style = iota // Step: at instants of its own choice
	nexts                // Next: at the next message, or a limit
	handles              // Run: handlers and timers
)

// A spec is one client of a scenario.
type spec struct {
	name       string
	style      style
	pubs, subs []string
	patterns   []metasim.Pattern // subs
	reaction   metasim.Time
	period     metasim.Time   // between steps; the longest wait of a Next; of a periodic timer
	timers     []metasim.Time // of a client with handlers
	every      bool           // it has a periodic timer too
	start      bool           // it sends at the start
	promises   bool
	leave      metasim.Time // it leaves when it first acts after this; 0: at the end
	sends      int          // at most
	size       int          // of the payloads, at most
	floods     bool         // it sends at each act, and never little
	draws      bool         // it draws from random streams
	only       metasim.Time // it sends at multiples of this alone; 0: at any time
}

// seen is one thing that a client saw or did.
type seen struct {
	at, sent, due metasim.Instant
	what          byte // 'm': a message; 's': a send; 't': a timer; 'a': an act; 'l': it left
	from, channel string
	seq           uint64
	payload       uint64 // its hash
}

// A port is what the program of a client may do: on the client's end of a session, or in the plain computation.
type port interface {
	publish(channel string, payload []byte)
	at(i metasim.Instant, call func()) (stop func())
	every(period metasim.Time, call func()) (stop func())
	promise(t metasim.Time)
	rand(stream string) *rand.Rand
	leave()
}

// A simulator is the program of a client. What it does is drawn from a hash of all that it has seen.
type simulator struct {
	*spec
	port       port
	now        metasim.Instant
	state      uint64
	left       int // sends
	promised   metasim.Instant
	target     metasim.Time // of Step and Next
	stop       func()       // of the periodic timer; nil where there is none
	leaves     bool
	transcript []seen
}

type message = session.Message

// A client is a simulator on its end of a session.
type client struct {
	*simulator
	*session.Client
	network    *network
	conn       *conn
	member     uint32
	out        session.Outbound
	in         session.Inbound
	phase      phase
	before     phase           // of one that comes back: what it did when its server was lost
	old        []seen          // the transcript of the process that it replaces
	life       uint64          // its number among the processes of all clients
	sent       uint64          // of its messages, those of the process before its checkpoint: it does not remember them
	handled    uint64          // likewise
	survives   bool            // it can outlive its server
	repeats    bool            // it was started again
	gone       bool            // its process died, and the connection that it shared has not ended
	authorized metasim.Instant // as far as it has read
	last       metasim.Message // that arrived
	known      []string        // channels on which it has a handler
	asked      bool            // it comes back, and the server has read of what it waits for
	vowed      metasim.Instant // the server has read that it sends nothing before
}

// A phase is what a client can do next.
type phase uint8

const (
	joining phase = iota
	ready         // it can compute
	waiting
	leaving // it has said so, and waits for the last word
	returning
	over
)

// A conn is a connection with the packets on their way.
type conn struct {
	session *session.Conn
	members []*client // by number
	names   session.Names
	up      []wire.Packet // written by the clients, not yet read by the server
	batch   []wire.Packet // put by the server, not yet written
	down    []wire.Packet // written by the server, not yet read
	mark    int64         // how many entries the disk must have before batch may be written, if the run is durable
	slow    bool          // it seldom reads
	closed  bool
}

// An output takes what the server's end has for one connection.
type output struct {
	n *network
	c *conn
}

// A network is one run.
type network struct {
	*scenario
	r          *rand.Rand
	dispatcher *metasim.Dispatcher
	server     *session.Server
	ledger     *metasim.Ledger
	clients    []*client // by ClientID
	lives      []*client // all processes of clients, by when they began
	conns      []*conn
	config     metasim.Config
	lazy       int // of a hundred Settles, so many are put off
	cut        moment
	detach     bool
	restart    bool                    // who is on a connection that ends is started again
	relayed    bool                    // as behind a relay: of several on a connection one dies alone, and several come back over one
	disk       *disk                   // nil: nobody reads a journal
	crash      moment                  // of the server
	resumes    bool                    // a server that crashes is resumed, and clients may come back
	every      map[string]metasim.Time // between two checkpoints, of the clients that make them
	feeds      []feed
	victim     *conn                                 // that a moment has chosen
	last       *conn                                 // of which the server has read a packet last
	promised   bool                                  // that is a promise
	dirty      bool                                  // something was stepped since the last Settle
	reached    *metasim.Reached                      // not answered yet
	past       metasim.Instant                       // everything before it has happened, as a Reached said
	permitted  metasim.Instant                       // nothing happens at it or later
	led        bool                                  // another run says how far this one may go
	tap        func(metasim.Event, []metasim.Effect) // a gateway hears what is observed; nil: there is none
	number     func(from string, seq uint64) uint64  // of a message, as its sender counts; nil: the dispatcher counts alike
	finished   bool
	failed     error // what the run ended with
	err        error // what must not be
	books      books
	happened   int
	count      Result
}

// A nest is a scenario as two runs, of which one is nested in the other, with a gateway between.
type nest struct {
	*scenario
	r            *rand.Rand
	outer, inner *network
	inside       []bool           // by client: it is one of the nested run
	gate         *gateway.Gateway // nil until all clients of the nested run have joined
	reactions    []metasim.Time   // of the clients of the nested run to what comes from outside
	inOuter      *conn            // of the gateway
	inInner      *conn            // likewise
	heard        []any            // of the outer run, for the gateway: effects, and how far the run may go
	said         []metasim.Event  // by the gateway, for the outer run
	asked        bool             // its group has asked to join the outer run
	begun        bool             // the outer run has begun
	over         bool             // the nested one is over
	channels     [][]string       // by client: those on which its sends matter in the other run
	numbers      [][]uint64       // by client: the numbers of these sends
}

// A moment is when something dies: when so much has happened, and what it waits for has happened too.
type moment struct {
	at    int // 0: never
	after trigger
}

// A trigger is a moment at which a death has found mistakes.
type trigger uint8

const (
	anything  trigger = iota
	promised          // the server has read a promise that no report has followed
	unread            // there is one that it has not read
	repeating         // a client that was started again is given its past
	catching          // a client that outlived its server comes back
	handled           // a client has handled messages, and has not said so
	reported          // a client has reported that it goes on, and has not gone on
	triggers
)

// A disk has the journal of a run.
type disk struct {
	file    file
	writer  *journal.Writer
	entries int64 // of the journal
	synced  int64 // of them, those that a crash does not undo
	safe    int   // bytes of these
	durable bool  // packets wait for the disk
	lazy    int   // of a hundred times, so often the disk is slow
	files   *files
	kept    *past.Checkpoints // in files
	keeping []keeping
	damaged bool // one of these files was
}

// A keeping is a checkpoint that is still to be written. The journal has so many bytes before it.
type keeping struct {
	client metasim.ClientID
	size   int64
	saved  session.Saved
}

// files are those of checkpoints.
type files []checkpointFile

type checkpointFile struct {
	name string
	b    []byte
}

// A file is in memory.
type file struct {
	b  []byte
	at int
}

// A feed is what a client that was started again is still to be given of its past.
type feed struct {
	client metasim.ClientID
	conn   *conn
	past   *past.Reader
	slow   bool // the disk is
}

// books are kept of what the dispatcher holds, from its events and effects alone.
type books struct {
	accounts []account // by ClientID
	grants   int
	held     int // bytes of all messages, each once
	peak     int
	short    bool // somebody has waited for memory
}

type account struct {
	queued []*held
	given  []*held // and not acknowledged, in order
	last   uint64  // the number of the last delivery
	bytes  int
	gone   bool
}

// A held is a message that somebody waits for, or was given and has not acknowledged.
type held struct {
	from  metasim.ClientID
	seq   uint64
	size  int // of the payload
	users int
}
