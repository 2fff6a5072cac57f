package metasim

import (
	"cmp"
	"slices"

	"metasim/metasim/safetime"
)

// A Dispatcher decides when each message arrives, which client may advance, and how far. It is a pure state machine: it has
// no clock, no goroutine and no socket, and it draws no random number of its own. The same events give the same effects.
//
// It is not safe for concurrent use. The package comment lists the duties of its caller.
type Dispatcher struct {
	config  Config
	phase   phase
	clients []client // a ClientID indexes it

	end         Instant // Config.Until, or Infinity
	permit      Instant // how far Permit events have let the run go
	permitAsked bool    // a Permit waits for its Reached
	limitMoved  bool    // the end or the permit may bound every client anew
	now         Instant // nothing is left to happen before it

	initializing int // clients that have not finished their initialization
	left         int // clients that are gone

	graph     *safetime.Graph  // a node for each client, a channel node for each channel whose links are alike; nil before Begin
	forest    *safetime.Forest // the safe times; nil before the first client is authorized
	foresight *foresight       // nil where no client is outside
	touched   []safetime.Node  // the clients whose bounds may have changed since the forest was told
	moved     []safetime.Node  // the clients that the next Settle looks at, as far as that is known

	groups  []*group
	outside []ClientID

	credited bool // there was a Credit: there is a gateway to a run around

	store   store // the messages that are sent and not handled
	memory  memory
	cascade cascade
	effects effects
	dues    []Instant // scratch of transmit
}

// New returns a dispatcher that waits for the clients of c to join.
func New(c Config) (*Dispatcher, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Delays = cmp.Or[Delays](c.Delays, oneStep{})
	c.MaxSteps = cmp.Or(c.MaxSteps, DefaultMaxSteps)
	c.Ahead = cmp.Or(c.Ahead, DefaultAhead)
	c.Clients = slices.Sorted(slices.Values(c.Clients))
	d := &Dispatcher{config: c, end: Infinity, permit: Infinity, clients: make([]client, len(c.Clients))}
	if c.Until > 0 {
		d.end = At(c.Until)
	}
	for i, name := range c.Clients {
		d.clients[i] = client{id: ClientID(i), name: name, queue: queue{store: &d.store}, credit: Infinity}
	}
	d.gather()
	return d, nil
}

// Step takes one event and returns what follows from it at once. What it means for the advance of clients follows with the
// next Settle, so that a batch of events costs one computation of safe times. The caller must treat the event's payload and
// lists as immutable from now on; the event itself belongs to the caller again.
//
// The effects are lent. The slice is valid until the next call; what it holds, until the first Step or Settle after the
// next Settle, so that a batch can be carried out as a whole.
func (d *Dispatcher) Step(ev Event) []Effect {
	d.effects.begin(false)
	if d.phase == finished {
		return nil
	}
	switch ev := ev.(type) {
	case *Join:
		d.join(ev)
	case *Begin:
		d.begin()
	case *Send:
		d.send(ev)
	case *Promise:
		d.promise(ev)
	case *Advance:
		d.advance(ev)
	case *PollWait:
		d.pollWait(ev)
	case *Leave:
		d.leave(ev)
	case *Permit:
		d.permit, d.permitAsked, d.limitMoved = ev.Until, true, true
	case *Credit:
		if c := &d.clients[ev.Client]; c.state != gone {
			c.credit, d.credited = ev.Until, true
			d.touch(c)
		}
	}
	return d.effects.list
}

// Settle authorizes every client that waits and may go on, given all events so far: everything due before its safe time is
// delivered, in order, and then the client is authorized up to its safe time. The effects are lent as those of Step.
func (d *Dispatcher) Settle() []Effect {
	d.effects.begin(true)
	d.settle()
	return d.effects.list
}

// Names returns the names of all clients in order: a ClientID indexes it. The caller must not change it.
func (d *Dispatcher) Names() []string { return d.config.Clients }

// End returns the instant before which everything happens: Config.Until, or Infinity.
func (d *Dispatcher) End() Instant { return d.end }

// Now returns how far the run has come as a whole: nothing is left to happen before it. It looks at every client.
func (d *Dispatcher) Now() Instant {
	if d.phase == running {
		d.now = Later(d.now, d.upcoming())
	}
	return d.now
}

// A Status is what the dispatcher knows of a client, for people and reports. No client may see the Status of any client, nor
// its own: Granted and Safe depend on real time.
type Status struct {
	Name         string
	Joined, Gone bool
	Clock        Instant // its last activity that it reported
	NoSendBefore Instant // its unconditional promise
	NextEvent    Instant // its conditional promise
	Granted      Instant // it may act before this
	Safe         Instant // nothing unknown reaches it before this
	Waiting      bool
	Want         Instant // what it waits for, where it does
	Need         Instant // the earlier of Want and the first message that wakes it, where one is on its way
	Queued       int     // messages that wait for it
	Given        int     // deliveries that it has not acknowledged
	Held         int     // bytes of both
	Short        bool    // it waits for memory, and for no client otherwise: see Config.Memory
}

// Status returns what is known of a client.
func (d *Dispatcher) Status(id ClientID) Status {
	c := &d.clients[id]
	return Status{
		Name: c.name, Joined: c.state != absent, Gone: c.state == gone, Clock: c.clock, NoSendBefore: c.floor,
		NextEvent: c.next, Granted: c.granted, Safe: d.safe(c), Waiting: c.waiting, Want: c.want, Need: c.need(),
		Queued: c.queue.len(), Given: c.window.given.Len(), Held: c.use.held, Short: c.use.short,
	}
}
