package analysis

import "metasim/metasim"

// A clock says how far the two critical paths have come, in nanoseconds of work.
type clock struct {
	ideal int64 // what is sent is all that makes anybody wait
	cons  int64 // what is reported is, too
	node  int32 // where cons comes from
}

// noNode is where a path begins.
const noNode int32 = -1

// A node is a piece of work on a path that leads to it, of which the conservative critical path is the longest.
type node struct {
	work    int64
	prev    int32 // what it follows
	client  metasim.ClientID
	grant   int32            // in Timeline.Grants; -1 for none
	via     metasim.ClientID // whose link it follows over, where it follows another client's
	channel uint32           // of that link
	how     means
}

// means is how a node follows another.
type means uint8

const (
	byItself  means = iota // it is the same client's
	byMessage              // it handles a message
	byReport               // it was authorized because of a report
)

// A letter is a message in the hands of its recipient.
type letter struct {
	stamp
	due     metasim.Instant
	from    metasim.ClientID
	channel uint32
	seq     uint64
}

// A permit is an authorization that came ahead: it is needed from an instant on.
type permit struct {
	stamp
	from metasim.Instant
	by   metasim.ClientID
}

// A stamp is what a client's clock said when it sent or reported, and when the one whom it concerns knew.
type stamp struct {
	clock
	wall int64
}

// work takes up what a client computed until now, and all that it had to know to act at an instant.
//
// What reached it while it computed can have caused only what it computed afterwards. So a path is never longer than the
// wall clock that it took.
func (t *tracer) work(id metasim.ClientID, at metasim.Instant) {
	c := &t.clients[id]
	begin, computed, took := t.measure(c)
	reached := begin + took
	c.now = metasim.Later(c.now, at)
	next := clock{c.ideal + took, c.cons + took, c.node}
	n := node{work: took, prev: c.node, client: id, grant: c.grant}
	for l := c.letters.first(); l != nil && !c.now.Before(l.due); l = c.letters.first() {
		after := min(took, t.wall-max(l.wall, begin))
		next.ideal = max(next.ideal, l.ideal+after)
		reached = max(reached, max(l.wall, begin)+after)
		if l.cons+after > next.cons {
			next.cons = l.cons + after
			n.work, n.prev, n.how, n.via, n.channel = after, l.node, byMessage, l.from, l.channel
		}
		c.heard, c.hears, c.last = l.due, true, flight{l.from, id, l.seq}
		c.letters.pop()
	}
	for p := c.permits.first(); p != nil && !c.now.Before(p.from); p = c.permits.first() {
		after := min(took, t.wall-max(p.wall, begin))
		reached = max(reached, max(p.wall, begin)+after)
		if p.cons+after > next.cons {
			next.cons = p.cons + after
			n.work, n.prev, n.how, n.via, n.channel = after, p.node, byReport, p.by, anyChannel
		}
		c.permits.pop()
	}
	if n.work > 0 || n.prev != c.node {
		next.node = t.follow(n)
	}
	c.clock = next
	if c.running {
		c.since = reached
		t.profile.work(begin, begin+took)
	}
	c.worked = took
	t.tl.stats.clients[id].work += took
	t.tl.stats.clients[id].coreless += computed - took
	if c.grant >= 0 {
		t.tl.Grants[c.grant].Work += took
	}
}

func (t *tracer) follow(n node) int32 {
	t.nodes = append(t.nodes, n)
	return int32(len(t.nodes) - 1)
}

// released takes up that a client goes on because another one reported.
func (t *tracer) released(id, cause metasim.ClientID) {
	c, by := &t.clients[id], &t.clients[cause].clock
	if by.cons <= c.cons {
		return
	}
	n := node{prev: by.node, client: id, grant: c.grant, how: byReport, via: cause, channel: anyChannel}
	if c.wait.path >= 0 {
		hop := &t.tl.Paths[c.wait.path][0]
		n.via, n.channel = hop.From, t.channel(hop.Channel)
	}
	c.cons, c.node = by.cons, t.follow(n)
}

// A segment is what a critical path has of one client, or of one link.
type segment struct {
	work    int64
	entered uint64 // how often the path came to it from another
}

// A criticalPath is the conservative one, taken apart.
type criticalPath struct {
	length  int64
	clients []segment
	links   map[LinkID]segment // what follows on them, up to the next; looked up, never iterated
}

// trail goes back along the conservative critical path, and marks the grants on it.
func (t *tracer) trail() criticalPath {
	p := criticalPath{clients: make([]segment, len(t.clients)), links: map[LinkID]segment{}}
	at, work := noNode, int64(0)
	for i := range t.clients {
		if c := &t.clients[i]; c.cons > p.length {
			p.length, at = c.cons, c.node
		}
	}
	for at != noNode {
		n := &t.nodes[at]
		p.clients[n.client].work += n.work
		work += n.work
		if n.grant >= 0 {
			t.tl.Grants[n.grant].Critical = true
		}
		if n.how != byItself {
			p.clients[n.client].entered++
			id := LinkID{n.via, n.client, n.channel}
			p.links[id] = segment{p.links[id].work + work, p.links[id].entered + 1}
			work = 0
		}
		at = n.prev
	}
	return p
}

// A fifo is a queue that keeps its memory.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// first returns the oldest, or nil.
func (q *fifo[T]) first() *T {
	if q.head == len(q.items) {
		return nil
	}
	return &q.items[q.head]
}

func (q *fifo[T]) pop() {
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
}
