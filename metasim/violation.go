package metasim

import "fmt"

// A Rule is a duty of a client that the dispatcher checks. It is an error, so that errors.Is(err, metasim.SendBeforePromise)
// asks which one was broken.
type Rule uint8

// The rules, in the order in which a client meets them. Do not reorder: journals hold the numbers.
const (
	_ Rule = iota
	// JoinTwice: a client joins once, and before the run begins.
	JoinTwice
	// NotJoined: nothing may come from a client that has not joined, or before the run begins.
	NotJoined
	// UnknownChannel: a send names a channel that the client declared when it joined.
	UnknownChannel
	// BadSubscription: a subscription is a channel name or a regular expression.
	BadSubscription
	// SendBeforePromise: no send before the client's own promise, of either kind.
	SendBeforePromise
	// PromiseRegress: an unconditional promise never goes back.
	PromiseRegress
	// TimeRegress: a client's clock never goes back, and nothing is sent below it.
	TimeRegress
	// PastGrant: a client acts strictly before the instant it was authorized to.
	PastGrant
	// UnknownDelivery: a client acknowledges what it was given, in order.
	UnknownDelivery
	// AfterLeave: nothing follows a leave.
	AfterLeave
)

// The texts must not change: journals hold them, and a replay compares them.
var rules = [...]struct{ text, remedy string }{
	JoinTwice:         {"joined twice, or after the run began", "give every client a name of its own and start it before the run"},
	NotJoined:         {"had not joined when the run began, or spoke before it", "join first, and wait for the start"},
	UnknownChannel:    {"sent on a channel that it does not publish", "declare the publication before joining"},
	BadSubscription:   {"subscribed to what is neither a channel name nor a regular expression", "mend the pattern"},
	SendBeforePromise: {"broke its promise", "promise later, or send at the promise or after it"},
	PromiseRegress:    {"took a promise back", "promise less: a promise holds for ever"},
	TimeRegress:       {"went back in time", "send and report in the order of time"},
	PastGrant:         {"ran ahead of its authorization", "wait for the authorization before acting at that instant"},
	UnknownDelivery:   {"acknowledged a delivery out of order", "acknowledge the number of the last delivery handled"},
	AfterLeave:        {"went on after it left", "leave last"},
}

func (r Rule) Error() string {
	if int(r) >= len(rules) || r == 0 {
		return fmt.Sprintf("rule %d", uint8(r))
	}
	return "a client " + rules[r].text
}

// A Violation says which client broke which rule, when, and where the bound was.
type Violation struct {
	Rule    Rule
	Client  string
	Channel string  // empty where no channel is concerned
	At      Instant // when the client acted, or what it reported; of UnknownDelivery the number, as its Time
	Bound   Instant // the bound that it broke; of UnknownDelivery the number, as its Time
}

func (v *Violation) Error() string {
	text, remedy := "broke a rule", "mend the client"
	if v.Rule != 0 && int(v.Rule) < len(rules) {
		text, remedy = rules[v.Rule].text, rules[v.Rule].remedy
	}
	s := fmt.Sprintf("client %q %s", v.Client, text)
	if v.Channel != "" {
		s += fmt.Sprintf(" (%q)", v.Channel)
	}
	switch v.Rule {
	case JoinTwice, NotJoined, UnknownChannel, BadSubscription, AfterLeave:
		if v.At != Start {
			s += " at " + v.At.String()
		}
	case UnknownDelivery:
		s += fmt.Sprintf(": number %d, of %d", v.At.Time, v.Bound.Time)
	default:
		s += fmt.Sprintf(" at %v: the bound was %v", v.At, v.Bound)
	}
	return s + "; " + remedy
}

// Unwrap returns the rule, for errors.Is.
func (v *Violation) Unwrap() error { return v.Rule }

// A StepsError ends a run in which simulated time stands still: messages without delay followed one another at one time for
// more than MaxSteps steps.
type StepsError struct {
	At       Instant
	MaxSteps uint32
	// Cycle names clients and channels in turn, "a -PING-> b -PONG-> a"; where there is no cycle, the link that was
	// one step too long.
	Cycle string
}

func (e *StepsError) Error() string {
	return fmt.Sprintf("more than %d steps at %v: %s; give a link of it a delay, or raise max_steps",
		e.MaxSteps, e.At.Time, e.Cycle)
}

// A MemoryError ends a run in which one client sends more at one instant than the run may hold: time stands still there, and
// nothing that others do could make room.
type MemoryError struct {
	Client string
	At     Instant
	Bytes  int // that it has sent there, as Config.Memory counts them
	Bound  int // Config.Memory, or 64 MiB if that is more
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("client %q sent %d bytes at %v alone, with what each delivery takes; the bound is %d; "+
		"let it send over some time, or raise memory", e.Client, e.Bytes, e.At, e.Bound)
}

// A CascadeError ends a run in which messages without delay multiply: so much was sent at one step that the next one would take
// all memory.
type CascadeError struct {
	At    Instant
	Bytes int    // that were sent there, as Config.Cascade counts them
	Bound int    // Config.Cascade
	Cycle string // as in StepsError
}

func (e *CascadeError) Error() string {
	return fmt.Sprintf("messages without delay multiply: %d bytes at %v alone, with what each takes; the bound is %d: %s; "+
		"give a link of it a delay, let its clients send less than they are given, or raise cascade", e.Bytes, e.At, e.Bound, e.Cycle)
}
