// Package transfer decides who may change an entity, and hands the entity over: the machines of a homeserver and of a simulation server.
//
// An entity has one owner, the simulation server that computes its state, and one master, who says by a rule what others may do with it. Its homeserver
// keeps both. A new owner is asked for with a Request: the owner gives the entity away, or another server takes it. The homeserver refuses,
// or asks the master, or writes the new owner down and has the old one hand the entity over with its last state. Simulation servers that need
// no homeserver hand over directly.
//
// What holds whatever is lost, doubled or late: an entity is at one simulation server at most. The right to change it travels with its state in one
// Handover, and each ownership has a number, the Epoch: a Handover that is not newer than what a server knows is refused. So the change takes
// effect at one instant, when the Handover is received, and the last state of the old owner is the first of the new one.
//
// The machines are pure: time and messages come in, messages go out. The caller's duties:
//
//  1. Receive is called with the neighbour that really sent the message: it is held against the trail that the message claims.
//  2. Every Envelope that is returned is sent, in order. Links may lose, double and reorder only if Config.Retry is set.
//  3. Tick is called at Wake, or later.
package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"metasim/federates/authority/claim"
	"metasim/metasim"
)

// A Sequence numbers the ownerships of an entity, and wraps around.
type Sequence = claim.Sequence

// A Kind says what a message is.
type Kind string

// The kinds of messages.
const (
	Request  Kind = "request"  // a simulation server asks for another owner of an entity
	Question Kind = "question" // the homeserver asks the master
	Answer   Kind = "answer"   // what the master says
	Grant    Kind = "grant"    // the homeserver has the owner hand over
	Refusal  Kind = "refusal"  // the homeserver does not, and says why
	Handover Kind = "handover" // the old owner hands over, with the last state
	Ack      Kind = "ack"      // the new owner has the entity
	SetRule  Kind = "rule"     // the master sets another rule
	Removal  Kind = "removal"  // the homeserver keeps the entity no more, so its owner lets go of it
)

// A Rule says what a master allows others to do with an entity.
type Rule string

// The rules. Where several ask at once, Allow lets the last one win: the homeserver takes one Request after the other.
const (
	Deny  Rule = "deny"
	Ask   Rule = "ask"
	Allow Rule = "allow"
)

// A Reason says why a homeserver refuses.
type Reason string

// The reasons.
const (
	Denied   Reason = "denied"    // by the rule
	SaidNo   Reason = "said-no"   // by the master
	NoAnswer Reason = "no-answer" // of the master, for as long as the homeserver waits
	NotOwner Reason = "not-owner" // the requester gives away what it does not own
	Owned    Reason = "owned"     // the requester takes what it owns
	Stale    Reason = "stale"     // the requester knows an older epoch
	Unknown  Reason = "unknown"   // no homeserver on the way keeps such an entity
	NoServer Reason = "no-server" // nobody has the name of the new owner, so the old one could not hand over

	Unproven  Reason = "unproven"   // no homeserver has granted what is handed over
	NotMaster Reason = "not-master" // who sets a rule is not the master
	NoRule    Reason = "no-rule"    // it is none of Deny, Ask and Allow
)

// A Message is what two servers say to each other. Its fields beyond the trail depend on the kind.
type Message struct {
	Kind      Kind     `json:"kind"`
	Requester string   `json:"requester"` // who asked first
	ID        uint64   `json:"id"`        // of the request; the requester counts
	Entity    string   `json:"entity"`
	Owner     string   `json:"owner,omitempty"`   // the new one
	Epoch     Sequence `json:"epoch"`             // of a Request: the one that the requester knows; of a Grant and a Handover: the new one
	Rule      Rule     `json:"rule,omitempty"`    // of a SetRule
	Yes       bool     `json:"yes,omitempty"`     // of an Answer
	Reason    Reason   `json:"reason,omitempty"`  // of a Refusal
	State     *State   `json:"state,omitempty"`   // of a Handover
	Confirm   bool     `json:"confirm,omitempty"` // of a Handover: it is to be acknowledged
	Proof     string   `json:"proof,omitempty"`   // of a Grant, and of the Handover that follows: the signature of the homeserver that keeps the entity; empty in a run

	Route []string `json:"route,omitempty"` // who is still to pass it on, and its recipient last; empty: it has arrived
	Trail []string `json:"trail"`           // who has sent it, first to last: its length is the number of hops
	Sent  []int64  `json:"sent,omitempty"`  // when each of the trail has sent it, in ns since 1970; empty in a run, whose dispatcher measures that
}

// An Envelope is a message for a neighbour.
type Envelope struct {
	To      string
	Message Message
}

// Encode writes a message.
func Encode(m *Message) ([]byte, error) { return json.Marshal(m) }

// Decode reads a message.
func Decode(b []byte) (Message, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var m Message
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("%d bytes are no message between servers: %w", len(b), err)
	}
	return m, nil
}

// A ForgedError: the trail of a message does not end with who sent it, so its hops are not what was travelled.
type ForgedError struct {
	From  string
	Trail []string
}

func (e *ForgedError) Error() string {
	return fmt.Sprintf("%s sent a message whose trail is %q; a sender appends itself, and nothing else", e.From, e.Trail)
}

// An UnexpectedError: a server was sent what is not for it.
type UnexpectedError struct {
	Server, From string
	Kind         Kind
	Why          string
}

func (e *UnexpectedError) Error() string {
	return fmt.Sprintf("%s sent %s a message of kind %q: %s", e.From, e.Server, e.Kind, e.Why)
}

// A TimesError: a message does not have one time for each of who has sent it.
type TimesError struct {
	From         string
	Times, Names int
}

func (e *TimesError) Error() string {
	return fmt.Sprintf("%s sent a message that has %d times of sending and %d names in its trail; each sender appends its name and its time, or nobody a time", e.From, e.Times, e.Names)
}

// TakeTimes takes out of a message when it was sent, which changes nothing of what it says. Where it returns an error the sender did wrong.
func (m *Message) TakeTimes(from string) (sent []int64, err error) {
	if n := len(m.Sent); n > 0 && n != len(m.Trail) {
		return nil, &TimesError{from, n, len(m.Trail)}
	}
	sent, m.Sent = m.Sent, nil
	return sent, nil
}

// Latencies returns how long each hop took, and what its sender did with the message before it: from one sending to the next, and at last to when it was received.
func Latencies(sent []int64, received int64) (ns []int64) {
	for i, at := range sent {
		until := received
		if i+1 < len(sent) {
			until = sent[i+1]
		}
		ns = append(ns, until-at)
	}
	return ns
}

// CheckTrail holds the trail that a message or a request claims against the neighbour that sent it.
func CheckTrail(from string, trail []string) error {
	if n := len(trail); n == 0 || trail[n-1] != from {
		return &ForgedError{from, trail}
	}
	return nil
}

// onward sends a message along its route.
func onward(self string, m Message) Envelope {
	to := m.Route[0]
	m.Route = m.Route[1:]
	m.Trail = append(slices.Clip(m.Trail), self)
	return Envelope{to, m}
}

// back is the route along which a message came.
func back(m *Message) []string {
	route := slices.Clone(m.Trail)
	slices.Reverse(route)
	return route
}

// A SimConfig says what a simulation server is.
type SimConfig struct {
	Name  string
	Home  string       // its homeserver; empty: it has none, and hands over directly
	Step  metasim.Time // of its simulation; above 0
	Retry metasim.Time // how long it waits before it says again what may be lost; 0: links lose nothing
	// Master answers for the entities whose master this server is; 0 is a master that does not answer.
	Master Mind

	// Rule binds what it hands over without a homeserver; empty: Allow. Asks is the server that is the master then, and is asked under Ask;
	// empty: this server itself, which no rule binds. Patience is how long it waits for the master's answer; 0: without end.
	Rule     Rule
	Asks     string
	Patience metasim.Time
}

// A Mind is what a master answers.
type Mind uint8

// The minds.
const (
	Silent Mind = iota
	Yes
	No
)

// An Effective says from when on a server owns an entity.
type Effective struct {
	Entity string
	Epoch  Sequence
	At     metasim.Instant
}

// A Refused says what a homeserver refused.
type Refused struct {
	Entity string `json:"entity"`
	Reason Reason `json:"reason"`
}

// A State is that of an entity: a number that each step changes, so that a step that is left out or done twice shows, and where it moves its body.
type State struct {
	Steps uint64 `json:"steps"`
	Value uint64 `json:"value"`
	Body  *Body  `json:"body,omitempty"`
}

// clone returns a state that shares nothing with this one.
func (s *State) clone() *State {
	c := *s
	if s.Body != nil {
		body := *s.Body
		c.Body = &body
	}
	return &c
}

// Integrate does the steps of an entity up to an instant, the first at one step. However many they are, it takes no time: who hands over a state that is far behind does not
// keep the next owner from its work.
func (s *State) Integrate(until, step metasim.Time) {
	n := uint64(until / step)
	switch {
	case s.Steps >= n:
		return
	case s.Body != nil:
		s.Body.advance(n - s.Steps)
	default:
		factor, sum := uint64(6364136223846793005), uint64(1442695040888963407) // Knuth's linear congruential generator (MMIX)
		for left := n - s.Steps; left > 0; left >>= 1 {
			if left&1 == 1 {
				s.Value = s.Value*factor + sum
			}
			factor, sum = factor*factor, (factor+1)*sum // of twice as many steps
		}
	}
	s.Steps = n
}
