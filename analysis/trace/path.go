package trace

import (
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
		t.tl.Grants[c.grant].Work += took
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

// criticalPath walks back along the conservative critical path. It fills in the parts of the path, what of it lies in each grant, and the
// totals of clients. It returns what lies behind each link, up to the next link.
func (t *tracer) criticalPath() map[LinkID]Segment {
	links := map[LinkID]Segment{}
	at, work := noNode, int64(0)
	length := &t.tl.Totals.ConservativePath
	for i := range t.clients {
		if c := &t.clients[i]; c.conservative > *length {
			*length, at = c.conservative, c.node
		}
	}
	for at != noNode {
		n := &t.nodes[at]
		t.tl.Totals.Clients[n.client].Critical += n.work
		work += n.work
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
		if n.how != sameClient {
			id := LinkID{n.via, n.client, n.channel}
			links[id] = Segment{links[id].Work + work, links[id].Entered + 1}
			work = 0
		}
		at = n.prev
	}
	slices.Reverse(t.tl.Critical)
	return links
}
