// Package seal encrypts and signs what simulation servers send one another, so that only the recipient reads it, and who sent it is proven.
//
// A sealed message is a JWE in compact form (RFC 7516: ECDH-ES with a fresh ephemeral key, A128GCM), encrypted to the recipient's key, and over it
// a JWS in compact form (RFC 7515: ES256) by the sender's key. All keys are on P-256 (RFC 7518). The protected header of the JWE says which
// message this is: its member "bound" has the instance, sender, recipient, channel, sequence number and instant. The JWS signs that header
// with the rest, so none of it can be exchanged.
//
// The caller's duties:
//
//  1. The keys of a sender come from where its name is proven: its homeserver. A key says whose it is (Owner).
//  2. Time comes in as a parameter, on one clock for messages and keys: simulated time in a run, Unix time elsewhere.
//  3. A Sealer and an Opener belong to one Link, and outlive no change of its keys. A Sealer that starts again begins a new instance: sequence numbers
//     are never given twice.
//
// Ephemeral keys are random, so a sealed message has other bytes each time: what must be the same in each run is what was sealed.
package seal

import (
	"fmt"

	"metasim/metasim"
)

// A Link is who sends to whom, over what. A message that was sealed for one link opens on no other.
type Link struct {
	Instance  string // the run, or the logical instance of the homeservers
	Sender    string
	Recipient string
	Channel   string
}

// A Message is what was sealed.
type Message struct {
	Sequence uint64          // from 1, one more with each payload of the Link
	At       metasim.Instant // when it was sealed, by the sender's clock
	Payload  []byte
}

// A Reason says why a message or a key is refused. errors.Is finds it in what Open and the others return.
type Reason string

// The reasons.
const (
	TooLarge       Reason = "too large"       // more bytes than may be opened
	Malformed      Reason = "malformed"       // no JWS of a JWE in compact form, or with other algorithms
	UnknownKey     Reason = "unknown key"     // signed with a key that nobody has published
	WrongSender    Reason = "wrong sender"    // signed or sealed by somebody else than the sender of the link
	WrongRecipient Reason = "wrong recipient" // sealed for somebody else
	WrongInstance  Reason = "wrong instance"  // of another run or instance
	WrongChannel   Reason = "wrong channel"
	WrongKey       Reason = "wrong key"     // encrypted to another key than the recipient's
	NotYetValid    Reason = "not yet valid" // the key, at this time
	Expired        Reason = "expired"       // the key, at this time
	WrongUse       Reason = "wrong use"     // a key for signatures encrypts, or the other way round
	Altered        Reason = "altered"       // the signature does not fit what was signed
	Undecipherable Reason = "undecipherable"
	Replayed       Reason = "replayed"
	Reordered      Reason = "reordered"   // it comes after one that was sealed later
	FromFuture     Reason = "from future" // sealed later than it is, beyond the skew of clocks
	WrongGrant     Reason = "wrong grant" // it grants something else
	PrivateKeyText Reason = "private key" // a private key, where a public one is wanted
)

func (r Reason) Error() string { return string(r) }

// An Error says what is refused, and what to do.
type Error struct {
	Reason Reason
	Link   Link   // empty for keys
	What   string // what was found, what is the bound, and the remedy
}

func (e *Error) Error() string {
	if e.Link == (Link{}) {
		return fmt.Sprintf("%s: %s", e.Reason, e.What)
	}
	return fmt.Sprintf("a message from %s to %s over %s is refused (%s): %s", e.Link.Sender, e.Link.Recipient, e.Link.Channel, e.Reason, e.What)
}

// Unwrap returns the Reason.
func (e *Error) Unwrap() error { return e.Reason }

func (l Link) refuse(why Reason, format string, args ...any) error {
	return &Error{why, l, fmt.Sprintf(format, args...)}
}
