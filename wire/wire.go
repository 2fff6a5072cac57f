package wire

import (
	"fmt"
	"strings"

	"metasim/metasim"
)

// Version is the version of the protocol. A peer of another version is refused with both numbers.
const Version = 2

// Minor is what a client says in its Hello: the newest minor version that adds something which a server may say unasked. 2.5 and 2.6 add nothing of that kind:
// Hello.saves announces checkpoints, and Hello.returns what a client is told of a server that dies. A client is told nothing that it does not know.
const Minor = 4

// minorAbout is the first minor version with Welcome.About.
const minorAbout = 4

// A Packet is one message of the protocol on a connection. A connection carries many members, each a client of the
// run; Member says whose message it is. The side that connects chooses the numbers, in its Hello.
type Packet struct {
	Member uint32
	Body   Body
}

// A Body is one of the messages below, by value; or, by pointer, an event or effect: Send, Promise, Advance,
// PollWait and Leave (from a client), Deliver and Authorize (to a client). Their Client field is not on the wire: the
// member says whose message it is, and the field is zero after decoding. A Message's From is on the wire; an Introduce
// on the same connection has given its name.
type Body any

// NameOf returns how docs/protocol.md calls a body: "SendMessage".
func NameOf(body Body) string {
	switch body.(type) {
	case *metasim.Send:
		return "SendMessage"
	case *metasim.Promise:
		return "PromiseNoSend"
	case *metasim.Advance:
		return "NotifyAdvance"
	case *metasim.Deliver:
		return "DeliveredMessage"
	case *metasim.Authorize:
		return "AuthorizeAdvance"
	}
	name := fmt.Sprintf("%T", body)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// Hello asks to join. It is the first message of a member.
type Hello struct {
	Version       uint32
	Name          string
	Token         string
	Publications  []string
	Subscriptions []string
	Reaction      metasim.Time
	Minor         uint32 // the minor version that the client knows
	Relay         string // the name of the relay that carries the member, for people; empty: none does
	Saves         bool   // the client can make a Checkpoint, and begin at one
	Returns       bool   // the client can come back if its server dies and is resumed
	Back          *Back  // it comes back; nil: it joins
}

// Back is what a client has that comes back to a resumed server.
type Back struct {
	Sent    uint64 // how many messages it has sent
	Handled uint64 // the number of the last delivery that it has handled
}

// Known is what a resumed server has of a client that comes back: what its journal says.
type Known struct {
	Sent         uint64          // how many messages the client has sent
	Delivered    uint64          // how many deliveries were decided for it
	Now          metasim.Instant // the latest now of its reports
	NoSendBefore metasim.Instant // what it has promised
}

// KnowsAbout reports whether the client knows Welcome.About.
func (h *Hello) KnowsAbout() bool { return h.Minor >= minorAbout }

// Welcome answers Hello: the member has joined, and waits for the other clients.
type Welcome struct {
	Scenario string
	Seed     uint64
	Timed    bool // the member's reports are to say how long it computed
	CoreWait bool // and how long it waited for a core; only if Timed
	About    About
	Patience int64  // for how many real nanoseconds the client waits for a server that has died; 0: it does not
	Known    *Known // for a Hello with Back; else nil
}

// About is what a client is told of its part in the scenario. The zero value: it is told nothing.
type About struct {
	Entry     string // the name of the scenario's entry
	Index     uint32 // which of the clients of that entry it is, from 0
	Count     uint32 // how many there are
	With      string // the entry's parameters as JSON, or empty
	Directory string // the run directory on the server's host, or empty
}

// Start says that all clients have joined: the member may initialize, and sends at the start instant. It comes once.
type Start struct {
	// Until is the end of the run: nothing happens at it or later. Infinity: the run has no end.
	Until metasim.Instant
}

// Introduce gives the name of a client, once on a connection and before the first delivery from that client. It is for
// all members, so its own Member is 0 and means nothing. Names are sent when they are needed, because a run of n clients
// would otherwise begin with n times n of them.
type Introduce struct {
	Client metasim.ClientID
	Name   string
}

// Goodbye answers Leave: the server has processed everything that the member sent. It is the last message to a member.
type Goodbye struct{}

// Failed ends a member from its own side: it ends without leaving, which is a crash. It is the last message of a member. The
// others on the connection go on.
type Failed struct {
	Reason string // one sentence for a person
	Gone   bool   // the member went away without a word, and a relay that carried it says so
}

// Checkpoint is the state of a member at a place between what it says: with it, the deliveries that it has not handled, and nothing else, the
// client goes on from there. The server keeps it. It is for a client whose Hello says Saves.
//
// Before Start the server sends one: with Every it asks for Checkpoints, and where Now is not the start instant, that is where the client begins.
type Checkpoint struct {
	Every        metasim.Time    // simulated time between two Checkpoints; from the server only
	Now          metasim.Instant // of what the member did last
	NoSendBefore metasim.Instant // its unconditional promise
	NextEvent    metasim.Instant // the conditional promise of its last report
	Cause        metasim.Instant // due of the first message handled since that report; Infinity for none
	Acked        uint64          // the number of the last delivery handled
	State        []byte          // what the client itself has to know
	Failed       string          // why it has no state, for a person; the rest is empty then
}

// Refuse ends a member: it was not let in, broke a rule, or the run failed. It is the last message to a member.
type Refuse struct {
	Reason Reason
	Text   string // one sentence for a person
}

// A Reason tells why a member was ended.
type Reason uint32

// The reasons. Do not reorder: they are on the wire.
const (
	_ Reason = iota
	// BadVersion: the protocol versions differ.
	BadVersion
	// BadToken: the join token is not that of the run.
	BadToken
	// UnknownName: the scenario names no such client, or it is not to be joined from outside.
	UnknownName
	// NameTaken: a client of this name has joined already.
	NameTaken
	// TooLate: the run has begun.
	TooLate
	// BadMessage: a message is not of the protocol, or came at the wrong time.
	BadMessage
	// RuleBroken: the client broke a rule of the simulation; the text is the violation's.
	RuleBroken
	// RunFailed: the run ended with an error that is not this client's.
	RunFailed
	// NotAllowed: the client declares a channel that the scenario does not allow it.
	NotAllowed
)

// A RefusedError is the error of a client that got a Refuse.
type RefusedError struct {
	Reason Reason
	Text   string
}

func (e *RefusedError) Error() string { return e.Text }

// Is compares reasons alone, so that errors.Is(err, &RefusedError{Reason: BadToken}) asks for one.
func (e *RefusedError) Is(target error) bool {
	t, ok := target.(*RefusedError)
	return ok && t.Reason == e.Reason
}

// Keep returns the packet with a body of its own, for a caller that needs it longer than Read lends it.
func (p Packet) Keep() Packet {
	switch b := p.Body.(type) {
	case *metasim.Send:
		p.Body = new(*b)
	case *metasim.Promise:
		p.Body = new(*b)
	case *metasim.Advance:
		p.Body = new(*b)
	case *metasim.PollWait:
		p.Body = new(*b)
	case *metasim.Leave:
		p.Body = new(*b)
	case *metasim.Deliver:
		p.Body = new(*b)
	case *metasim.Authorize:
		p.Body = new(*b)
	}
	return p
}

// A Conn is one ordered, reliable stream of packets in each direction: never more than one, as a promise would
// overtake a send. One goroutine calls Read and one calls Write (they may differ); any may call Close, more than once.
type Conn interface {
	// Read waits for packets and returns at least one: all that came in together. The slice and its bodies are valid
	// until the next Read, and the caller may change them meanwhile; payloads stay valid. It fails with io.EOF when the
	// peer closed between two frames, with a *ProtocolError when the peer sent something else than the protocol, and
	// with another error when the connection broke.
	Read() ([]Packet, error)
	// Write sends packets, in order, in one write, and the rest of each large payload in one more. Afterwards the caller may reuse the slice, its bodies and their payloads. But the
	// payloads of a Direct must never be changed after Write, because its reader gets the payloads themselves.
	Write([]Packet) error
	// WriteFrames is Write of packets that an Encoder has encoded already, so that a caller that writes later need not
	// keep the packets. The bytes may end within a frame: the next ones go on with it.
	WriteFrames(frames []byte) error
	// Close ends both directions. What was written before is still sent. It wakes a Read and a Write that wait.
	Close() error
	// Peer names the other side for people: "unix pid 812", "tcp 127.0.0.1:4000".
	Peer() string
	// Traffic tells what came in and went out so far. It waits for a Read and a Write that wait: call it when they have
	// ended. Where no bytes travel a frame is what one Write handed over, and its bytes are those of the payloads in it.
	Traffic() Traffic
}

// A Prompt is a Conn that can be read and written without waiting, and so needs no goroutine of its own.
type Prompt interface {
	Conn
	// TryRead is Read if something has come. Otherwise it returns no packets and no error.
	TryRead() ([]Packet, error)
	// TryWriteFrames writes as many bytes as possible without waiting, and returns how many. The rest must be written
	// before anything else. It is not called while a Write waits.
	TryWriteFrames(frames []byte) (int, error)
}

// A Copier is a Conn that has a place for copies of large payloads where its peer gets them without one more copy.
type Copier interface {
	Conn
	// Copy returns a copy of parts, one behind the other, in such a place. Nobody may change it. It is for a payload that is written to this Conn, alone or to others.
	// Nil: there is no such place for them, and the caller copies them as it likes.
	Copy(parts [][]byte) []byte
}

// A Direct is a Conn between two parts of one process. It can hand over packets without a goroutine in between: each
// Write of the peer calls the receiver.
type Direct interface {
	Conn
	// Receive calls f with what the peer writes, on the goroutine that writes, instead of keeping it for Read. First
	// f gets what was written before. The packets and their bodies are valid until f returns. At the end f is called once
	// with the error that Read would return, unless this side closed. f must not write to this Conn, nor close it. Receive
	// is called at most once, and Read not at all after it.
	Receive(f func(packets []Packet, err error))
	// Immediate reports whether the peer has called Receive: from then on a Write hands over at once, and does not wait.
	Immediate() bool
}

// A Guarded is a Conn that was accepted, and whose peer may be a visitor: a program that reached the listener, and has not
// shown the token of the run.
type Guarded interface {
	Conn
	// Guard makes the peer a visitor. It is called before the first Read. Read then fails at a frame of more than
	// maxVisitor bytes, unless the frame begins with a Hello whose token admit accepts.
	Guard(admit func(token string) bool)
	// Trust says that the peer is no visitor any more. It may be called during a Read.
	Trust()
}

// A Mortal is a Conn whose transport may learn late that the peer has died.
type Mortal interface {
	Conn
	// Suspect says that the process at the other end is said to have ended. Another process may go on in its place.
	Suspect()
}

// A Listener accepts connections.
type Listener interface {
	// Accept waits for the next connection. It fails with net.ErrClosed after Close.
	Accept() (Conn, error)
	// Close stops listening and removes what it left on disk. Accepted connections stay open.
	Close() error
	// URL is the address that a client needs in METASIM_SERVER: "unix:///tmp/x/s.sock", "tcp://127.0.0.1:4000",
	// "quic://127.0.0.1:4000?sha256=<64 hex>" (the pinned certificate).
	URL() string
}

// Traffic is what a connection carried, as its owner sees it. The length before a frame counts as part of it. It depends on real time.
type Traffic struct {
	FramesIn  uint64 `json:"frames_in"`  // read, whole and in order
	FramesOut uint64 `json:"frames_out"` // that the transport accepted; of the last one perhaps a part
	BytesIn   uint64 `json:"bytes_in"`   // of the frames that were read
	BytesOut  uint64 `json:"bytes_out"`  // that the transport accepted
}

// Add adds the traffic of another connection.
func (t *Traffic) Add(u Traffic) {
	t.FramesIn += u.FramesIn
	t.FramesOut += u.FramesOut
	t.BytesIn += u.BytesIn
	t.BytesOut += u.BytesOut
}
