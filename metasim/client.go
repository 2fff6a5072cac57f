package metasim

import (
	"iter"
	"slices"
	"strings"

	"metasim/internal/fifo"
	"metasim/metasim/safetime"
)

// A client is all that the dispatcher knows of one client.
type client struct {
	id       ClientID
	name     string
	state    state
	reaction Time
	subs     []Pattern
	pubs     []publication // in order of channel
	group    *group        // nil: it belongs to none
	outside  bool          // as Config.Outside has it
	proxy    bool          // it only sends, and another dispatcher decides when: a client of a group that hears nothing, or an outside one

	clock  Instant // its last activity that it reported
	floor  Instant // its unconditional promise
	asleep Instant // nothing wakes it before: the latest instant that it waited for with Messages false
	next   Instant // its conditional promise: N in package safetime
	sends  uint64  // how many it has sent

	queue  queue
	window Window             // what it was given
	ahead  int                // bytes that window may have ahead of what the client waits for
	given  fifo.Queue[uint32] // the places in the store of what is in window
	use    use                // of memory

	granted  Instant // it is authorized to act before this
	credit   Instant // as its last Credit has it
	woken    Instant // what it had to do when it was last authorized: it does nothing before
	polled   bool    // it has waited at least once: its initialization is over
	waiting  bool
	want     Instant // as in PollWait
	messages bool    // as in PollWait
	safe     Instant // as last computed, no later than the end and the permit
	touched  bool    // it is in the list of the dispatcher
}

// A phase is how far the life of a run has come.
type phase uint8

const (
	joining  phase = iota
	epsilon        // clients initialize; none is authorized before all have done so
	running        //
	finished       // Finish was returned; further events are ignored
)

// A state is how far the life of a client has come.
type state uint8

const (
	absent state = iota
	joined
	gone
)

// A publication is a channel that a client declared, with a link to each of its subscribers.
type publication struct {
	channel string
	links   []link  // in order of recipient; where common is set, those to groups alone
	common  *common // not nil where all links of the channel are alike
}

// A use is a client's part in the memory of the run.
type use struct {
	heard  bool    // another client subscribes to what it publishes
	held   int     // bytes of the messages that wait for it or that it has not acknowledged
	span   Time    // how far it may be authorized ahead of what it does
	spent  int     // bytes that it has sent, and what its reports count, since it was last authorized
	short  bool    // it waits for memory
	capped bool    // its span, and not its safe time, limited its last authorization
	burst  int     // bytes that it has sent at burstAt, by which one instant is kept from taking all memory
	at     Instant // of burst
}

// A group is several clients that one gateway speaks for.
type group struct {
	members []ClientID
	hearing []*client // those that something reaches
	pending Instant   // the least of all, as the safe times have it
}

// least returns the least of what the members that hear have.
func (g *group) least(of func(*client) Instant) Instant {
	least := Infinity
	for _, c := range g.hearing {
		least = Earlier(least, of(c))
	}
	return least
}

// A link is a Link with what the dispatcher counts on it.
type link struct {
	to    ClientID
	model Link
	count uint64 // messages so far: the number of the next one
}

// A common is a channel on which one Link without a state serves all senders and recipients.
type common struct {
	model   Link
	to      []ClientID // its subscribers that belong to no group, in order
	groups  []ClientID // its subscribers that belong to groups, in order
	node    safetime.ChannelNode
	hasNode bool // it has a channel node in the graph of safe times
}

// node returns the node of a client in the graph of safe times.
func (id ClientID) node() safetime.Node { return safetime.Node(id) }

// publication returns the declared channel of that name, or nil.
func (c *client) publication(channel string) *publication {
	i, ok := slices.BinarySearchFunc(c.pubs, channel, func(p publication, s string) int {
		return strings.Compare(p.channel, s)
	})
	if !ok {
		return nil
	}
	return &c.pubs[i]
}

// all yields the recipients of a publication in order, each with its link.
func (p *publication) all() iter.Seq2[ClientID, Link] {
	return func(yield func(ClientID, Link) bool) {
		if p.common != nil {
			for _, to := range p.common.to {
				if !yield(to, p.common.model) {
					return
				}
			}
		}
		for i := range p.links {
			if !yield(p.links[i].to, p.links[i].model) {
				return
			}
		}
	}
}

// link returns the Link of a publication to a client, or nil.
func (p *publication) link(to ClientID) Link {
	if p.common != nil {
		if _, ok := slices.BinarySearch(p.common.to, to); ok {
			return p.common.model
		}
	}
	i, ok := slices.BinarySearchFunc(p.links, to, func(l link, id ClientID) int { return int(l.to) - int(id) })
	if !ok {
		return nil
	}
	return p.links[i].model
}

// isEar reports whether a client hears for the clients behind a gateway.
func (c *client) isEar() bool { return c.group != nil && !c.proxy }

// bounds is what the client has said of its future sends, and what follows from the messages on their way to it.
func (c *client) bounds() safetime.Bounds {
	if c.state == gone {
		return safetime.Silent()
	}
	return safetime.NewBounds(Later(c.floor, c.asleep), c.next, c.pending(), c.reaction)
}

// pending is when the earliest message is due that the client may still answer: one that is queued for it, or one that it was
// given and has not acknowledged. It may answer those of its group, too.
func (c *client) pending() Instant {
	if c.group != nil {
		return c.group.least((*client).ownPending)
	}
	return c.ownPending()
}

func (c *client) ownPending() Instant { return Earlier(c.queue.due(), c.window.first()) }

// cause is when the earliest message was due that the client, or one of its group, was given and has not acknowledged.
func (c *client) cause() Instant {
	if c.group != nil {
		return c.group.least((*client).ownCause)
	}
	return c.ownCause()
}

func (c *client) ownCause() Instant { return c.window.first() }

// promised is the instant before which the client sends nothing, by all that it has said.
func (c *client) promised() Instant {
	return SendBound(Later(c.floor, c.asleep), c.next, c.cause(), c.reaction)
}

// SendBound returns the first instant at which a client may send. It is not before its unconditional promise. Before the next
// event that it reported, a client sends only in answer to a message that it was given since, and not sooner than its reaction
// time allows: cause is when the first such message is due, Infinity if there is none.
func SendBound(promise, next, cause Instant, reaction Time) Instant {
	return safetime.NewBounds(promise, next, cause, reaction).Known
}

// need is the earliest instant at which a client that waits has something to do. The ear of a group takes what is due before that, as each of
// the group may answer it.
func (c *client) need() Instant {
	if c.messages || c.isEar() {
		return Earlier(c.want, c.queue.due())
	}
	return c.want
}

// upcoming is a bound before which nothing is left to happen at the client. Promises do not count: a client that sends
// nothing before an instant may well be given messages before it.
func (c *client) upcoming() Instant {
	switch {
	case c.state == gone:
		return Infinity
	case c.proxy:
		return Later(c.clock, c.bounds().Known) // nothing is given to it
	case c.waiting:
		return Later(c.clock, c.need())
	}
	return Later(c.clock, c.woken)
}

// upcoming is the instant before which nothing is left to happen at any client.
func (d *Dispatcher) upcoming() Instant {
	least := d.end
	for i := range d.clients {
		least = Earlier(least, d.clients[i].upcoming())
	}
	return least
}

// mayActAt reports whether the client is authorized to act at an instant. Every client is at the start.
func (c *client) mayActAt(at Instant) bool { return at.Before(c.granted) || at == Start }
