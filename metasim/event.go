package metasim

import "metasim/internal/slab"

// An Event is what the world tells the Dispatcher: a pointer to one of the types below.
type Event interface{ client() (ClientID, bool) }

// A Report is what a client says of itself. Every field up to Acked is a bound that others rely on.
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

	// Computed is the wall-clock time, in nanoseconds, that the client has computed since its last report, without the time
	// that it waited; a very short time may be added to the next report instead. CPU is the processor time that its process
	// took meanwhile, where the process has no other client, or that of its own thread, if it slept for most of that time. CoreWait
	// is for how long it was ready to compute in that time, and had no core. Zero: not known. All three are for analysis alone: the
	// dispatcher ignores them, and no result may depend on them.
	Computed, CPU, CoreWait int64
}

// Join makes a client of the scenario take part. Publications are channel names; Subscriptions are channel names or
// regular expressions that match a whole name. Both are fixed from then on.
type Join struct {
	Client        ClientID
	Publications  []string
	Subscriptions []string
	// Reaction is the least time from a delivery to a send that it causes, in nanoseconds; 0 when in doubt.
	Reaction Time

	patterns []Pattern
}

// Compiled gives the Subscriptions as they are compiled, in their order, so that the dispatcher need not compile them. They are no part of
// what is recorded.
func (j *Join) Compiled(subscriptions []Pattern) { j.patterns = subscriptions }

// Begin ends joining: every client has joined, the links are made, and the clients initialize (the epsilon tick).
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
	// choice leaves it false. For the client that hears for a group (Config.Groups) it says whether more is taken than what is due at Want
	// or before.
	Messages bool
}

// Leave ends a client's part: it sends nothing any more.
type Leave struct {
	Client ClientID
	Now    Instant // its last activity
	Acked  uint64  // as in Report: it never handled what it was given beyond this
	Result []byte  // JSON: the result of its model; may be empty
	Cut    bool    // the client was lost: Now, Acked and Result are not known
}

// Permit lets the run go on to everything strictly before Until; no Permit means no limit but the scenario's.
type Permit struct{ Until Instant }

// Credit lets a client act strictly before Until: another run, in which it is heard, can take what it sends until then. It comes from the
// gateway to that run. No Credit means no such limit.
type Credit struct {
	Client ClientID
	Until  Instant
}

func (ev *Join) client() (ClientID, bool)     { return ev.Client, true }
func (*Begin) client() (ClientID, bool)       { return 0, false }
func (ev *Send) client() (ClientID, bool)     { return ev.Client, true }
func (ev *Promise) client() (ClientID, bool)  { return ev.Client, true }
func (ev *Advance) client() (ClientID, bool)  { return ev.Client, true }
func (ev *PollWait) client() (ClientID, bool) { return ev.Client, true }
func (ev *Leave) client() (ClientID, bool)    { return ev.Client, true }
func (*Permit) client() (ClientID, bool)      { return 0, false }
func (*Credit) client() (ClientID, bool)      { return 0, false } // it comes from a gateway

// ClientOf returns the client that an event came from. It returns false for a Begin, a Permit, a Credit and nil.
func ClientOf(ev Event) (id ClientID, ok bool) {
	if ev == nil {
		return 0, false
	}
	return ev.client()
}

// An Effect is what is to be done: a pointer to one of the types below. Effects are carried out in their order, and are
// lent: see Dispatcher.Step.
type Effect interface{ effect() }

// Queue is QUEUED_MESSAGE: the message is due for To at Message.Due, and waits until that is safe. There is nothing to do: it
// is there for journals and reports.
type Queue struct {
	To      ClientID
	Message Message
}

// Lose says that the link dropped the message on its way to To. Message.Due is meaningless.
type Lose struct {
	To      ClientID
	Message Message
}

// Deliver is DELIVERED_MESSAGE: give Message to client To. Number counts the deliveries to that client from 1.
type Deliver struct {
	To      ClientID
	Number  uint64
	Message Message
}

// Authorize is AUTHORIZE_ADVANCE: client To has been given everything due before Until, and may act before Until.
//
// QuietUntil says which reports of To no client needs: as long as To may still send at QuietUntil or before, no report of it lets a
// waiting client go on. Infinity: no client waits for it. It is a hint, and says what is known now: a client that keeps its
// reports for longer only delays others.
type Authorize struct {
	To         ClientID
	Until      Instant
	QuietUntil Instant
}

// Evict says that a client broke the rules. The run cannot be trusted from here on: Finish follows.
type Evict struct {
	Client ClientID
	Err    *Violation
}

// Reached says that everything strictly before Until has happened and every client waits: the answer to a Permit. Next
// is the earliest instant at which something is left to happen: the end of the run if nothing is.
type Reached struct{ Until, Next Instant }

// Finish says that the run is over: every client has left, or, with Err, that it cannot go on.
type Finish struct{ Err error }

func (*Queue) effect()     {}
func (*Lose) effect()      {}
func (*Deliver) effect()   {}
func (*Authorize) effect() {}
func (*Evict) effect()     {}
func (*Reached) effect()   {}
func (*Finish) effect()    {}

// leastEffects is for how many effects there is always memory: a Settle of many clients has many, and the Steps between have few.
const leastEffects = 1 << 16

// effects gathers what follows from the events. The values lie in memory that is used again, so that a message allocates
// nothing.
type effects struct {
	list       []Effect // of the call at hand
	queued     slab.Slab[Queue]
	lost       slab.Slab[Lose]
	delivered  slab.Slab[Deliver]
	authorized slab.Slab[Authorize]
	use        slab.Use // of list
	settled    bool     // a Settle has been since the memory was last reclaimed
}

// begin forgets what the call before returned. The memory of the values is not used again before a batch is over, so that the
// caller may carry out the effects of a batch together.
func (e *effects) begin(settle bool) {
	e.list = slab.Reuse(e.list, &e.use, leastEffects)
	if e.settled {
		e.queued.Reclaim()
		e.lost.Reclaim()
		e.delivered.Reclaim()
		e.authorized.Reclaim()
	}
	e.settled = settle
}

// add adds an effect that is rare enough to be allocated.
func (e *effects) add(rare Effect) { e.list = append(e.list, rare) }

func (e *effects) queue(to ClientID, m *Message) {
	v := e.queued.Lend()
	v.To, v.Message = to, *m
	e.list = append(e.list, v)
}

func (e *effects) lose(to ClientID, m *Message) {
	v := e.lost.Lend()
	v.To, v.Message = to, *m
	e.list = append(e.list, v)
}

// deliver returns the effect, whose number and message are still to be set.
func (e *effects) deliver(to ClientID) *Deliver {
	v := e.delivered.Lend()
	v.To = to
	e.list = append(e.list, v)
	return v
}

func (e *effects) authorize(to ClientID, until, quietUntil Instant) {
	v := e.authorized.Lend()
	v.To, v.Until, v.QuietUntil = to, until, quietUntil
	e.list = append(e.list, v)
}
