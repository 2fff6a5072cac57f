package trace

import (
	"math"
	"slices"

	"metasim/metasim"
)

// A clock is a client's position on both critical paths, in nanoseconds of work.
type clock struct {
	ideal        int64 // messages alone make clients wait
	conservative int64 // reports do, too
	node         int32 // the last node of the conservative path
}

// noNode is the node before the first one.
const noNode int32 = -1

// A node is a piece of work on a path. The longest path of nodes is the conservative critical path.
type node struct {
	work    int64
	end     int64 // wall clock: the work is the time before that
	prev    int32 // the node before it
	client  metasim.ClientID
	grant   int32            // index in Timeline.Grants; -1: not stored
	via     metasim.ClientID // the sender of the link that leads here, if the node before is another client's
	channel uint32           // of that link
	how     edge
	first   bool // of its grant
}

// An edge is the reason why a node comes after another.
type edge uint8

const (
	sameClient edge = iota
	byMessage       // the client handles a message
	byReport        // the client was authorized because of a report
)

// A stamp is a client's clock when it sent or reported something, and the wall-clock time at which the other client received it.
type stamp struct {
	clock
	wall int64
}

// A sent is a client's clock when it sent a message, and how many of its copies are on their way.
type sent struct {
	clock
	copies uint32
}

// sent returns what is kept of a message of the client; nil: nothing.
func (c *client) sent(seq uint64) *sent {
	if i := seq - c.settled; i < uint64(c.sends.Len()) {
		return &c.sends.All()[i]
	}
	return nil
}

// A delivery is a message that its recipient has received.
type delivery struct {
	stamp
	due     metasim.Instant
	from    metasim.ClientID
	channel uint32
	seq     uint64
}

// A permit is an authorization ahead of need. The client needs it from an instant on.
type permit struct {
	stamp
	from metasim.Instant
	by   metasim.ClientID
}

// work counts what a client has computed until now. To act at the instant the client needed the messages and the permits up to it:
// they advance its clock.
//
// A message that arrived while the client computed can only have caused what the client computed afterwards. So a path is never
// longer than the wall-clock time that it took.
func (t *tracer) work(id metasim.ClientID, at metasim.Instant) {
	c := &t.clients[id]
	begin, did := t.measure(c)
	took := did.work
	reached := begin + took
	c.now = metasim.Later(c.now, at)
	next := clock{c.ideal + took, c.conservative + took, c.node}
	n := node{work: took, prev: c.node, client: id, grant: c.grant, first: c.fresh}
	// follow puts the client behind a message or a permit, and returns how long the client computed after that.
	follow := func(s *stamp, how edge, via metasim.ClientID, channel uint32) int64 {
		received := max(s.wall, begin)
		after := min(took, t.wall-received)
		reached = max(reached, received+after)
		if s.conservative+after > next.conservative {
			next.conservative = s.conservative + after
			n.work, n.prev, n.how, n.via, n.channel = after, s.node, how, via, channel
		}
		return after
	}
	for d := c.inbox.First(); d != nil && !c.now.Before(d.due); d = c.inbox.First() {
		next.ideal = max(next.ideal, d.ideal+follow(&d.stamp, byMessage, d.from, d.channel))
		c.heardAt, c.heard, c.last = d.due, true, MessageID{d.from, id, d.seq}
		c.inbox.Drop(1)
	}
	for p := c.permits.First(); p != nil && !c.now.Before(p.from); p = c.permits.First() {
		follow(&p.stamp, byReport, p.by, unknownChannel)
		c.permits.Drop(1)
	}
	n.end = reached
	if n.work > 0 || n.prev != c.node {
		next.node = t.addNode(n)
		c.fresh = c.fresh && n.work == 0
	}
	c.clock = next
	if c.running {
		c.since = reached
		t.profile.work(begin, begin+took)
	}
	c.did = did
	c.steps.sum += took
	totals := &t.tl.Totals.Clients[id]
	totals.Work += took
	totals.Asleep += did.asleep
	totals.CoreWait += did.took - took
	if c.grant >= 0 {
		g := &t.tl.Grants[c.grant]
		g.Work += took
		g.CoreWait += did.took - took
	}
}

func (t *tracer) addNode(n node) int32 {
	t.nodes = append(t.nodes, n)
	return int32(len(t.nodes) - 1)
}

// release advances the clock of a waiting client to that of the client whose report authorized it.
func (t *tracer) release(id, cause metasim.ClientID) {
	c, by := &t.clients[id], &t.clients[cause].clock
	if by.conservative <= c.conservative {
		return
	}
	n := node{prev: by.node, client: id, grant: c.grant, how: byReport, via: cause, channel: unknownChannel}
	if c.wait.path >= 0 {
		link := t.linkOf(&t.tl.Paths[c.wait.path][0])
		n.via, n.channel = link.From, link.Channel
	}
	c.conservative, c.node, c.fresh = by.conservative, t.addNode(n), false
}

// criticalPath settles the rest of the conservative critical path: that of the client that is furthest on it.
func (t *tracer) criticalPath() {
	end := noNode
	length := &t.tl.Totals.ConservativePath
	for i := range t.clients {
		if c := &t.clients[i]; c.conservative > *length {
			*length, end = c.conservative, c.node
		}
	}
	var path []int32
	for at := end; at != noNode; at = t.nodes[at].prev {
		path = append(path, at)
	}
	for _, at := range slices.Backward(path) {
		t.settle(&t.nodes[at])
	}
}

// settle takes the next node of the conservative critical path: into its parts, what of it lies in each grant, the totals of clients, and
// what lies behind each link, up to the next link.
func (t *tracer) settle(n *node) {
	if n.how != sameClient {
		id := LinkID{n.via, n.client, n.channel}
		if t.behind = t.segments[id]; t.behind == nil {
			t.behind = &Segment{}
			t.segments[id] = t.behind
		}
		t.behind.Entered++
	}
	if t.behind != nil {
		t.behind.Work += n.work
	}
	t.tl.Totals.Clients[n.client].Critical += n.work
	if n.grant >= 0 {
		t.tl.Grants[n.grant].Critical += n.work
	} else if s := &t.tl.Starts[n.client]; n.end <= s.End {
		s.Critical += n.work
	}
	if n.work > 0 {
		t.tl.Critical = append(t.tl.Critical, Part{n.client, n.end - n.work, n.end})
	}
	if n.how != sameClient || n.first {
		t.tl.Totals.Hops++
	}
}

// prune drops the nodes that cannot be on the conservative critical path any more, and settles those that are on it whatever follows. So
// the tracer stores what lies between the clients, and not the whole run. A node comes after the one before it in the list too.
func (t *tracer) prune() {
	after := make([]int32, len(t.nodes)) // how many nodes and clocks that are kept come next after each node; then its new place
	first, clocks := 0, 0                // how many of them come after no node
	t.eachClock(func(at *int32) {
		clocks++
		for n := *at; ; n = t.nodes[n].prev {
			if n == noNode {
				first++
				return
			}
			if after[n]++; after[n] > 1 {
				return
			}
		}
	})
	kept := t.nodes[:0]
	certain := first == 1 && t.blame.initializing == 0
	for i, n := range t.nodes {
		switch {
		case after[i] == 0:
		case certain:
			t.settle(&n)
			certain, after[i] = after[i] == 1, noNode
		default:
			if n.prev != noNode {
				n.prev = after[n.prev]
			}
			after[i] = int32(len(kept))
			kept = append(kept, n)
		}
	}
	t.eachClock(func(at *int32) {
		if *at != noNode {
			*at = after[*at]
		}
	})
	t.nodes = kept
	t.pruneAt = minNodes + 2*(len(kept)+clocks) // so that it takes no more time than to add the nodes
}

// minNodes is how many nodes are stored at least before some are dropped.
const minNodes = 64

// eachClock calls f with the last node of each clock that may still advance another one, or be that of the client that is furthest. In the
// others there is noNode.
func (t *tracer) eachClock(f func(*int32)) {
	least := int64(math.MaxInt64)
	for i := range t.clients {
		if c := &t.clients[i]; !c.gone {
			least = min(least, c.conservative)
		}
	}
	use := func(c *clock, used bool) {
		if used {
			f(&c.node)
		} else {
			c.node = noNode
		}
	}
	for i := range t.clients {
		c := &t.clients[i]
		use(&c.clock, !c.gone || c.conservative >= least || least == math.MaxInt64)
		for k := range c.inbox.All() {
			s := &c.inbox.All()[k].stamp
			use(&s.clock, !c.gone && s.conservative > c.conservative)
		}
		for k := range c.permits.All() {
			s := &c.permits.All()[k].stamp
			use(&s.clock, !c.gone && s.conservative > c.conservative)
		}
		for k := range c.sends.All() {
			s := &c.sends.All()[k]
			use(&s.clock, s.copies > 0)
		}
	}
}
