package session

import (
	"math/rand/v2"

	"metasim/internal/fifo"
	"metasim/internal/pq"
	"metasim/internal/scope"
	"metasim/internal/slab"
	"metasim/metasim"
	"metasim/wire"
)

// A Message is one that a client was given.
type Message struct {
	From    string // the sender's name
	Channel string
	Seq     uint64          // counts the sender's publishes in the recipient's run, from 0: of one in another run that is nested, or around this one, those that somebody here hears
	Sent    metasim.Instant // when it was published
	Due     metasim.Instant // when it arrived: the instant at which the client sees it
	Payload []byte          // not to be changed
}

// A Declaration is what a client declares before it joins. The zero value declares nothing.
type Declaration struct {
	declared wire.Hello // without the name and the token
	period   metasim.Time
	complete bool
	err      error // the first mistake; Check returns it
}

// A Client is the client's end of a session. Declaration.Join makes one.
type Client struct {
	name          string // under which it joins
	own           string // what it is called in its scenario, if that is inside of another one; else the same
	subscriptions []string
	reaction      metasim.Time
	period        metasim.Time // it sends at times that are multiples of it alone; 0: at any
	out           *Outbound

	started bool
	told    wire.Welcome
	welcome bool            // told came
	err     error           // why the session is over: ErrLeft after a Leave
	until   metasim.Instant // the end of the run, exclusive

	now      metasim.Instant // of what the client did last
	promise  metasim.Instant // the unconditional promise: the last Promise, or Step
	granted  metasim.Instant // exclusive
	quiet    metasim.Instant // while its next event is not after this, no report of the client lets another client go on
	goal     goal
	waits    bool // it has said that it waits for its goal, and has not come there
	reported reported
	save     save
	hello    wire.Hello          // that it has said
	memory   *memory             // nil: it ends with its connection
	said     metasim.Instant     // how far it has reported to a server that was lost, at least
	given    fifo.Queue[Message] // delivered and not handled
	handled  uint64              // the number of the last delivery that was handled

	timers      timers
	fired       *Timer // its handler runs, and it may be set again
	running     bool   // in Run
	refused     error  // the first timer, or in Run publish, that was refused
	result      []byte // JSON
	streams     map[string]*stream
	streamNames []string // in the order in which they began
}

// A goal is the instant that a client advances to: want, or with messages the next message if that is earlier.
type goal struct {
	want     metasim.Instant
	messages bool
	keeps    bool            // for a caller that keeps these: see BeginAwait
	now      metasim.Instant // the clock that a report shows when the client goes on without waiting
}

// reported is what the server knows from the last report, and what has been handled since.
type reported struct {
	next  metasim.Instant // the conditional promise
	cause metasim.Instant // due of the first message handled since; Infinity for none
}

// A memory is what a client remembers in case its server is lost: see survivor.go.
type memory struct {
	sends   fifo.Queue[metasim.Send] // the last ones
	first   uint64                   // the number of the first of them, from 0
	initial uint64                   // so many it sent before it waited first: for these it needs no authorization
	waited  bool
	size    int             // of their payloads
	base    uint64          // the number of the last delivery that it had handled when it began: at a checkpoint, or 0
	handled []uint64        // hashes of the last deliveries since: see place
	due     metasim.Instant // of the last delivery that it has handled
	back    *catchUp        // it comes back; else nil
}

// A catchUp is how far a client has come that comes back to a resumed server.
type catchUp struct {
	known wire.Known
	next  uint64          // the number of the send that is to be sent again next
	clock metasim.Instant // of the last one that was
	skip  uint64          // how many deliveries that it has handled are to come again
	asked bool            // it has asked for want
	want  metasim.Instant
}

// save is what a client knows of checkpoints: see checkpoint.go.
type save struct {
	able   bool             // the client has declared that it can make them
	every  metasim.Time     // simulated time between two; 0: none is wanted
	next   metasim.Time     // when the next one is due
	begin  *wire.Checkpoint // where the client began; nil: at the start
	timers *runTimers       // there, if that was in Run; until Run begins again
	places []streamPlace    // there: those of random streams, by name; until the client goes on
}

// runTimers are those timers of a checkpoint that was made in Run.
type runTimers struct {
	before int // how many were set before Run
	set    []savedTimer
}

// A savedTimer is a timer that was set before Run, and is set at a checkpoint.
type savedTimer struct {
	number int // of those that were set before Run, from 0
	at     metasim.Instant
}

// A stream is a random stream, and what it draws from.
type stream struct {
	*rand.Rand
	source *rand.PCG
}

// A streamPlace is where a random stream stands at a checkpoint.
type streamPlace struct {
	name  string
	place []byte
}

// A LostError says that a connection ended while the client took part.
type LostError struct {
	At  metasim.Instant // the client's clock
	Err error           // how the connection ended; io.EOF where the server closed it
}

// Names are the clients that the server has introduced on one connection. The goroutine that reads it uses them. They
// are in a map, as one of ten thousand clients may hear the first and the last only.
type Names struct {
	Peer  string // the server, for errors
	names map[metasim.ClientID]string
	size  int // as wire.MaxNames counts it
}

// Inbound is what the server has said to one client and the client has not taken in yet. Messages stay in order; of many
// authorizations the last is left. The zero value is empty.
type Inbound struct {
	any     bool
	given   []Message
	granted metasim.Instant
	quiet   metasim.Instant // of the last authorization
	rest    []wire.Body
	use     slab.Use // of the memory of given
}

// Outbound is what a client has to say and has not written yet. The zero value is that of member 0.
type Outbound struct {
	Member uint32 // its number on the connection
	// Encoded says that the payloads are no longer needed after Written, so that the memory of copies is used again. It is false where
	// the reader gets the payloads themselves: see wire.Direct.
	Encoded bool

	packets []wire.Packet
	size    int        // of their payloads
	copies  slab.Bytes // of the payloads that were published
	sends   slab.Slab[metasim.Send]
	reports slab.Slab[metasim.Advance]
	poll    metasim.PollWait
	urgent  bool  // it must be written now
	kept    bool  // since is known
	since   int64 // when it began to wait
}

// A Timer is a call at an instant that is to come.
type Timer struct {
	at     metasim.Instant
	number uint64 // the order of setting decides among those at one instant
	period metasim.Time
	call   func() error
	owner  *timers
	index  int // in the queue; -1 when it is not there
	set    int // its number among those that were set before Run, from 0; -1: it was set in Run
}

// timers are those that are set, by (instant, order of setting).
type timers struct {
	queue  pq.Queue[*Timer]
	number uint64
	noted  bool     // a checkpoint has to know which are set
	inRun  bool     // what is set now is set in Run
	before []*Timer // those that were set before Run, if noted
	late   int      // in the queue, of those that were set in Run
}

// A Server is the server's end of all connections of one run: it decides what a peer is answered. Packets of the peers
// and effects of the dispatcher go in. Events for the dispatcher, packets for the peers and lost clients come out.
//
// The caller gives each packet to Receive, steps the dispatcher with the event that Receive returns, and then calls
// Answer with that event; see there. It gives each effect to the method of its name. It is not safe for concurrent use.
type Server struct {
	config  ServerConfig
	tokens  tokens
	ids     map[string]metasim.ClientID
	members []member // by client
	joined  int
	saved   *wire.Checkpoint // that came last, until Saved has returned it
	savedBy metasim.ClientID
}

// A ServerConfig is what a Server needs to know of its run.
type ServerConfig struct {
	Scenario string // the name of the run
	Seed     uint64
	Token    string // what a client shows to join; empty: no client needs one
	Timed    bool   // reports are to say how long the client computed
	// About says by name what clients are told of their part in the scenario.
	About  map[string]wire.About
	Scopes scope.Set       // the scenarios inside: see door.go
	Names  []string        // of all clients, by ClientID: see metasim.Dispatcher.Names
	Inside map[string]bool // the clients that the server's own process runs, by name: nobody else is told to join as one
	Until  metasim.Instant
	// Tokens are bound to the names of clients: such a client shows its own, once, and no other.
	Tokens map[string]string
	// Permissions say by name which channels clients may use. A client without one may use all.
	Permissions map[string]Permission
	// Patience says by name for how many nanoseconds of real time a client that can come back waits for a server that has died. A client without one
	// does not wait.
	Patience map[string]int64
	// Checkpoints is the checkpoint interval of each client, by name. A client without an interval makes none.
	Checkpoints map[string]metasim.Time
}

// A Conn is one connection, with all members on it.
type Conn struct {
	output     Output
	members    map[uint32]*member            // by the number that the peer chose
	trusted    bool                          // the peer has shown the token
	introduced map[metasim.ClientID]struct{} // clients whose names the peer knows
	aliases    map[alias]metasim.ClientID    // the numbers of those that have other names for its members: see door.go
	told       []metasim.Deliver             // room for deliveries in the words of members
	relay      string                        // what the peer calls itself, if it is a relay
}

// An Output takes the packets for one connection, in order. Deliver and Authorize make a packet from an effect, and the
// packet may be used only as long as that effect.
type Output interface{ Put(p wire.Packet) }

// A member is a client on its connection.
type member struct {
	conn    *Conn // nil before it has joined
	number  uint32
	client  metasim.ClientID
	scope   *scope.Scope      // of the scenario inside that it is from
	full    map[string]string // full names of channels, by its own; nil: none was needed
	own     map[string]string // and back
	about   wire.About        // that it is told: nothing, if it is too old
	present bool              // it takes part
	over    bool              // it has left, was refused or is lost: nothing more is sent to it
	saves   bool              // it can make checkpoints
	returns bool              // it can come back to a server that was resumed
	back    *wire.Back        // its Hello says that it comes back
	lacks   uint64            // how many messages the journal lacks that it has sent
	// standing is what the journal has of a client that may come back, until it has come
	standing *standing
	lost     bool
	cut      bool // the run goes on without it: what it still sends is dropped
	away     bool // its process is gone, and it may join again
	survives bool // away: its relay was lost, and its process may live
	again    *again
	// promised is what it had promised before it was started again: it holds for ever
	promised metasim.Instant
	// unacked has, of a client that has outlived its server, what it was given and has not acknowledged: see limitAck
	unacked *metasim.Window
	joined  *metasim.Join
	done    bool // it has sent Leave or Failed. What it still sends is dropped too: whether the run is over then depends on real time
}

// A Refusal says that a peer was refused, and that the refusal was put for it. The text is empty if a member has ended itself.
type Refusal struct {
	wire.Refuse
	// Lost says that a client that had joined is lost with it: Client, because of Cause ("it said Hello twice").
	Lost   bool
	Client metasim.ClientID
	Cause  string
	Said   bool // the client says so itself: it failed
	Gone   bool // a relay says that the client went away without a word: its process may be replaced
	// Precedes says that the client comes back before its relay is known to be lost. Nobody was refused: the caller calls Await, and gives the packet again.
	Precedes bool
	// Difference says that the client did not repeat what it did before it was started again. The run cannot go on.
	Difference *Difference
}

// A Saved is a checkpoint of a client, and what the server knew of the client then.
type Saved struct {
	wire.Checkpoint
	Sent  uint64 // messages that the client had sent
	Sends uint64 // the hash of these: see metasim.Ledger.SendsOf
}

// A Presence is what the sessions of a run know of a client.
type Presence uint8

const (
	Absent  Presence = iota // it has not joined
	Present                 // it has joined
	Left                    // it has left, or broke a rule
	Lost                    // it went away without leaving
	Away                    // it has joined, and its process is to be replaced
)

// A standing is what the journal of a run that was cut off has of a client that may come back: see back.go.
type standing struct {
	known     wire.Known
	acked     uint64                       // the last delivery that it had acknowledged
	unhandled fifo.Queue[*metasim.Deliver] // what was decided after that
	granted   metasim.Instant              // how far it was authorized
}

// An again is a client that goes through again what it went through before its process was replaced: see again.go.
type again struct {
	server *Server
	member *member
	past   Past // of the journal, as far as it came and was not gone through again
	begun  bool // it has been told where it begins
	whole  bool // all of it has come, and what was decided since
	since  Past // what was decided since the client came back; until whole
	feed   Feed
	sent   uint64        // sends that it has repeated
	held   []wire.Packet // that it has sent, and that cannot be compared before more of the past comes
}

// prepared is a Hello whose subscriptions have been compiled and checked. That takes up to ten milliseconds, and needs nothing of the run:
// see Server.Prepare.
type prepared struct {
	wire.Hello
	patterns []metasim.Pattern
	// publications and subscriptions are what it declares, in full names
	publications, subscriptions []string
	reason                      wire.Reason // why it is refused; 0: it is not
	why                         string
}
