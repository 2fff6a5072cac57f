package metasim

import (
	"slices"
)

// A Dispatcher decides when each message arrives, who may advance, and how far. It is a pure state machine: it has no
// clock, no goroutine and no socket, and it draws no random number of its own. The same events give the same effects.
//
// It is not safe for concurrent use.
type Dispatcher struct {
	config  Config
	end     Instant // Config.Until, or Infinity
	permit  Instant // how far Permit events have let the run go
	asked   bool    // a Permit waits for its Reached
	now     Instant // nothing is left to happen before it
	clients []client
	out     [][]edge   // of each client, for safe times
	forest  *forest    // safe times; nil before the run goes on
	stale   []ClientID // whose bound may have changed since the last Settle
	risen   []ClientID // to whom a link has risen since then, from where their safe time comes
	moved   []ClientID // for whom something has changed since the last Settle, as far as that was computed
	phase   phase
	recap   bool // the end or the permit may bound everybody anew
	waking  int  // clients that have not initialized
	left    int  // clients that are gone
	effects effects
	dues    []Instant
}

type phase uint8

const (
	joining  phase = iota
	epsilon        // clients initialize; nobody is authorized before all have done so
	running        //
	finished       // Finish was returned; further events are ignored
)

type state uint8

const (
	absent state = iota
	joined
	gone
)

// A client is all the dispatcher knows of one.
type client struct {
	id       ClientID
	name     string
	state    state
	reaction Time
	subs     []pattern
	pubs     []publication // in order of channel

	clock  Instant // its last activity, as far as it said
	floor  Instant // its unconditional promise, as it said
	asleep Instant // nothing wakes it before: the last that it waited for without heed to messages
	next   Instant // N: its conditional promise
	sends  uint64  // how many it has sent

	queue     queue
	given     fifo[given] // delivered and not yet acknowledged, in order
	ahead     int         // payload bytes of given
	delivered uint64      // number of the last delivery
	acked     uint64

	granted  Instant // exclusive
	woken    Instant // what it had to do when it was last authorized: it does nothing before
	polled   bool    // it has waited at least once: its initialization is over
	waiting  bool
	want     Instant
	messages bool
	safe     Instant // as last computed, capped at the end and the permit
	stale    bool    // it is in the dispatcher's list
}

// New returns a dispatcher that waits for the clients of c to join.
func New(c Config) (*Dispatcher, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Delays == nil {
		c.Delays = oneStep{}
	}
	if c.MaxSteps == 0 {
		c.MaxSteps = DefaultMaxSteps
	}
	if c.Ahead == 0 {
		c.Ahead = DefaultAhead
	}
	c.Clients = slices.Sorted(slices.Values(c.Clients))
	d := &Dispatcher{config: c, end: Infinity, permit: Infinity, clients: make([]client, len(c.Clients))}
	if c.Until > 0 {
		d.end = At(c.Until)
	}
	for i, name := range c.Clients {
		d.clients[i] = client{id: ClientID(i), name: name}
	}
	return d, nil
}

// Names returns the names of all clients in order: a ClientID indexes it. The caller must not change it.
func (d *Dispatcher) Names() []string { return d.config.Clients }

// End returns the instant before which everything happens: Config.Until, or Infinity.
func (d *Dispatcher) End() Instant { return d.end }

// Now returns how far the run has come as a whole: nothing is left to happen before it. It looks at every client.
func (d *Dispatcher) Now() Instant {
	if d.phase == running {
		upcoming := d.end
		for i := range d.clients {
			upcoming = Earlier(upcoming, d.clients[i].upcoming())
		}
		d.now = Later(d.now, upcoming)
	}
	return d.now
}

// Step takes one event and returns what follows from it at once. What it means for who may advance follows with the
// next Settle, so that a batch of events costs one computation of safe times. The caller must treat the event's
// payload and lists as immutable from now on; the event itself is the caller's again.
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
		d.permit, d.asked, d.recap = ev.Until, true, true
	}
	return d.effects.list
}

// client returns the client of an event, if it may speak: it has joined, the run has begun, and it has not left.
func (d *Dispatcher) client(id ClientID, at Instant) *client {
	c := &d.clients[id]
	switch {
	case c.state == gone:
		d.evict(c, Violation{Rule: AfterLeave, At: at})
	case c.state == absent || d.phase == joining:
		d.evict(c, Violation{Rule: NotJoined, At: at})
	default:
		d.touch(c)
		return c
	}
	return nil
}

// touch notes that the bound of a client may change, or that it may be authorized.
func (d *Dispatcher) touch(c *client) {
	if !c.stale {
		c.stale = true
		d.stale = append(d.stale, c.id)
	}
}

// evict ends the run: what a client that breaks the rules has done to the others cannot be undone.
func (d *Dispatcher) evict(c *client, v Violation) {
	v.Client = c.name
	d.effects.add(&Evict{Client: c.id, Err: &v})
	d.finish(&v)
}

func (d *Dispatcher) finish(err error) {
	d.phase = finished
	d.effects.add(&Finish{Err: err})
}

// A Status is what the dispatcher knows of a client, for people and reports. No client may see another's, nor its own:
// Granted and Safe depend on real time.
type Status struct {
	Name         string
	Joined, Gone bool
	Clock        Instant // its last activity, as far as it said
	NoSendBefore Instant // its unconditional promise
	NextEvent    Instant // its conditional promise
	Granted      Instant // it may act before this
	Safe         Instant // nothing unknown reaches it before this
	Waiting      bool
	Want         Instant // what it waits for, where it does
	Need         Instant // ... or the message before that for which it waits too, as far as one is on its way
	Queued       int     // messages that wait for it
	Given        int     // deliveries that it has not acknowledged
}

// Status returns what is known of a client.
func (d *Dispatcher) Status(id ClientID) Status {
	c := &d.clients[id]
	return Status{
		Name: c.name, Joined: c.state != absent, Gone: c.state == gone, Clock: c.clock, NoSendBefore: c.floor,
		NextEvent: c.next, Granted: c.granted, Safe: d.safe(c), Waiting: c.waiting, Want: c.want, Need: c.need(),
		Queued: c.queue.len(), Given: c.given.len(),
	}
}
