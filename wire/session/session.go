package session

import (
	"metasim/internal/fifo"
	"metasim/internal/pq"
	"metasim/internal/slab"
	"metasim/metasim"
	"metasim/wire"
)

// A Message is one that a client was given.
type Message struct {
	From    string // the sender's name
	Channel string
	Seq     uint64          // counts the sender's publishes, from 0
	Sent    metasim.Instant // when it was published
	Due     metasim.Instant // when it arrived: the instant at which the client sees it
	Payload []byte          // not to be changed
}

// A Declaration is what a client declares before it joins. The zero value declares nothing.
type Declaration struct {
	declared wire.Hello // without the name and the token
	complete bool
	err      error // the first mistake; Check returns it
}

// A Client is the client's end of a session. Declaration.Join makes one.
type Client struct {
	name          string
	subscriptions []string
	reaction      metasim.Time
	out           *Outbound

	started  bool
	timed    bool
	coreWait bool
	err      error           // why the session is over: ErrLeft after a Leave
	until    metasim.Instant // the end of the run, exclusive

	now      metasim.Instant // of what the client did last
	promise  metasim.Instant // the unconditional promise: the last Promise, or Step
	granted  metasim.Instant // exclusive
	quiet    metasim.Instant // while its next event is not after this, no report of the client lets another client go on
	goal     goal
	reported reported
	given    fifo.Queue[Message] // delivered and not handled
	handled  uint64              // the number of the last delivery that was handled

	timers  timers
	fired   *Timer // its handler runs, and it may be set again
	running bool   // in Run
	refused error  // the first timer, or in Run publish, that was refused
	result  []byte // JSON
}

// A goal is the instant that a client advances to: want, or with messages the next message if that is earlier.
type goal struct {
	want     metasim.Instant
	messages bool
	now      metasim.Instant // the clock that a report shows when the client goes on without waiting
}

// reported is what the server knows from the last report, and what has been handled since.
type reported struct {
	next  metasim.Instant // the conditional promise
	cause metasim.Instant // due of the first message handled since; Infinity for none
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
	call   func()
	owner  *timers
	index  int // in the queue; -1 when it is not there
}

// timers are those that are set, by (instant, order of setting).
type timers struct {
	queue  pq.Queue[*Timer]
	number uint64
}
