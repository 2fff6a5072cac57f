package metasim

// An Event is what the world tells the Dispatcher: a pointer to one of the types below, nothing else.
type Event interface{ event() }

// A Report is what a client says of itself. Every field is a bound that others rely on.
type Report struct {
	// Now is the client's clock: the instant of what it did last. It never goes back.
	Now Instant
	// NoSendBefore is the unconditional promise: no send before it, whatever is delivered. It never goes back, and
	// Now is promised anyway.
	NoSendBefore Instant
	// NextEvent is the conditional promise: no send before it unless something is delivered. The client's next timer,
	// or Infinity for one that only answers.
	NextEvent Instant
	// Acked is the number of the last delivery that the client has handled when it says this; 0 for none. Without it
	// a report that crosses a delivery on the wire would promise too much.
	Acked uint64

	// Computed is for how long the client has computed since its last report, in nanoseconds of real time; what it waited
	// is not in it, and very little may wait for the next report. CPU is how much processor time its process took meanwhile, where the process has no other client. Zero:
	// not known. Both are for reports alone: the dispatcher ignores them, and no result may depend on them.
	Computed, CPU int64
}

// Join makes a client of the scenario take part. Publications are channel names; Subscriptions are channel names or
// regular expressions that match a whole name. Both are fixed from then on.
type Join struct {
	Client        ClientID
	Publications  []string
	Subscriptions []string
	// Reaction is the least time from a delivery to a send that it causes, in nanoseconds; 0 when in doubt.
	Reaction Time
}

// Begin ends joining: every client has joined, the links are made, and clients initialize (the epsilon tick).
type Begin struct{}

// Send is SEND_MESSAGE: one publish.
type Send struct {
	Client  ClientID
	Channel string
	Sent    Instant
	Payload []byte // owned by the dispatcher from now on
}

// Promise is PROMISE_NO_SEND: an unconditional promise made while the client computes.
type Promise struct {
	Client       ClientID
	NoSendBefore Instant
}

// Advance is NOTIFY_ADVANCE: a report from a client that goes on computing.
type Advance struct {
	Client ClientID
	Report
}

// PollWait is POLL_WAIT: a report from a client that now waits.
type PollWait struct {
	Client ClientID
	Report
	// Want is the instant that the client waits for: it is authorized when everything due at Want, or earlier, is known.
	// Waiting is a promise too: nothing is sent before Want, unless (with Messages) a message wakes the client.
	Want Instant
	// Messages says that a message due before Want wakes the client too. A client that steps at instants of its own
	// choice leaves it false.
	Messages bool
}

// Leave ends a client's part: nothing follows from it. Cut tells a client that was lost from one that left.
type Leave struct {
	Client ClientID
	Now    Instant // its last activity
	Acked  uint64  // as in Report: what it was given beyond this, it never saw
	Result []byte  // JSON: what its model has to say; may be empty
	Cut    bool
}

// Permit lets the run go on to everything strictly before Until; no Permit means no limit but the scenario's.
type Permit struct{ Until Instant }

func (*Join) event()     {}
func (*Begin) event()    {}
func (*Send) event()     {}
func (*Promise) event()  {}
func (*Advance) event()  {}
func (*PollWait) event() {}
func (*Leave) event()    {}
func (*Permit) event()   {}
