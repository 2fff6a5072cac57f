package wire

import "metasim/metasim"

// Version is the version of the protocol. A peer of another version is refused with both numbers.
const Version = 2

// A Packet is one message of the protocol on a connection. A connection carries many members, each a client of the
// run; Member says whose message it is. The side that connects chooses the numbers, in its Hello.
type Packet struct {
	Member uint32
	Body   Body
}

// A Body is one of the messages below, by value; or, by pointer, one of the core's nouns Send, Promise, Advance, PollWait
// and Leave (from a client), Deliver and Authorize (to a client). In those the client's own ID is not on the wire: the member tells it, and it is
// zero after decoding. A Message's From is on the wire; an Introduce has said on the same connection who that is.
type Body any

// Keep returns the packet with a body of its own, for who needs it longer than it was given.
func (p Packet) Keep() Packet {
	switch b := p.Body.(type) {
	case *metasim.Send:
		p.Body = own(*b)
	case *metasim.Promise:
		p.Body = own(*b)
	case *metasim.Advance:
		p.Body = own(*b)
	case *metasim.PollWait:
		p.Body = own(*b)
	case *metasim.Leave:
		p.Body = own(*b)
	case *metasim.Deliver:
		p.Body = own(*b)
	case *metasim.Authorize:
		p.Body = own(*b)
	}
	return p
}

func own[T any](v T) *T { return &v }

// Hello asks to join. It is the first message of a member.
type Hello struct {
	Version       uint32
	Name          string
	Token         string
	Publications  []string
	Subscriptions []string
	Reaction      metasim.Time
}

// Welcome answers Hello: the member has joined, and waits for the others.
type Welcome struct {
	Scenario string
	Seed     uint64
	Timed    bool // reports are to say how long the member computed
}

// Start says that all have joined: the member may initialize, and sends at the start instant. It comes once.
type Start struct {
	// Until is the end of the run: nothing happens at it or later. Infinity where the run has no end.
	Until metasim.Instant
}

// Introduce says who a client is, once on a connection and before the first delivery from it there. It is for all members,
// so its own member is 0 and means nothing. Names are told as they are needed: a run of n clients would otherwise begin
// with n times n of them.
type Introduce struct {
	Client metasim.ClientID
	Name   string
}

// Goodbye answers Leave: everything that the member sent has been taken. It is the last message to a member.
type Goodbye struct{}

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
	// BadMessage: what came is not of the protocol, or came at the wrong time.
	BadMessage
	// RuleBroken: the client broke a rule of the simulation; the text is the violation's.
	RuleBroken
	// RunFailed: the run ended with an error that is not this client's.
	RunFailed
)

// A RefusedError is what a client's side makes of a Refuse.
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
