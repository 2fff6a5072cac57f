package safetime

import (
	"math"

	"metasim/metasim/simtime"
)

// A Graph says which node can send to which, and how long that takes. It is built once, and does not change while a Forest
// uses it; the links themselves may (see Forest.LinkRose).
type Graph struct {
	nodes    int
	out      [][]edge // of each vertex
	arrivals []vertex // where links to a node arrive: at the node, or at its ear; nil where no node has one
}

// An edge is a link as seen from the vertex that sends.
type edge struct {
	to   vertex
	link Link // nil: it takes no time, as the way to a channel node, or from an ear
}

// NewGraph returns a graph of n nodes without links.
func NewGraph(n int) *Graph { return &Graph{nodes: n, out: make([][]edge, n)} }

// Connect adds a link from one node to another, or to itself.
func (g *Graph) Connect(from, to Node, link Link) {
	g.out[from] = append(g.out[from], edge{to: arrival(g.arrivals, to), link: link})
}

// Couple says that what reaches one of some nodes each of them may answer, in no time. They get an ear: a vertex at which all links to
// them arrive, and from which they all hear at once, so that they have one safe time, the least. What they send stays apart. Couple
// comes before Connect and AddChannelNode; no node is coupled twice.
func (g *Graph) Couple(nodes []Node) {
	if g.arrivals == nil {
		for i := range g.nodes {
			g.arrivals = append(g.arrivals, vertex(i))
		}
	}
	var hear []edge
	for _, node := range nodes {
		hear = append(hear, edge{to: vertex(node)})
		g.arrivals[node] = vertex(len(g.out))
	}
	g.out = append(g.out, hear)
}

// Map returns the same graph with other links.
func (g *Graph) Map(link func(Link) Link) *Graph {
	m := &Graph{nodes: g.nodes, out: make([][]edge, len(g.out)), arrivals: g.arrivals}
	for i := range g.out {
		for _, e := range g.out[i] {
			if e.link != nil {
				e.link = link(e.link)
			}
			m.out[i] = append(m.out[i], e)
		}
	}
	return m
}

// arrival returns where links to a node arrive.
func arrival(arrivals []vertex, to Node) vertex {
	if arrivals == nil {
		return vertex(to)
	}
	return arrivals[to]
}

// AddChannelNode adds a channel node that passes on what it is fed to some nodes, over one link that serves all. A channel node that k nodes
// feed saves k-1 links for each of those nodes.
func (g *Graph) AddChannelNode(to []Node, link Link) ChannelNode {
	var edges []edge
	for _, node := range to {
		edges = append(edges, edge{to: arrival(g.arrivals, node), link: link})
	}
	g.out = append(g.out, edges)
	return ChannelNode(len(g.out) - 1 - g.nodes)
}

// Feed adds a link from a node to a channel node. It takes no time.
func (g *Graph) Feed(from Node, channel ChannelNode) {
	g.out[from] = append(g.out[from], edge{to: vertex(g.nodes) + vertex(channel)})
}

// maxNeighbours is how many recipients QuietUntil looks at.
const maxNeighbours = 32

// QuietUntil returns the latest instant with this property: as long as the node may still send at that instant, nothing
// that becomes known of the node lets a recipient go on. needs returns the instant that a node waits for, or Infinity if it
// does not wait; a node that waits for T goes on when its safe time lies beyond T.
//
// QuietUntil looks at the direct recipients alone, and at the least delays alone. A result that is too late costs a wait,
// one that is too early an unneeded report. For a node with more than 32 recipients the result is Start.
func (g *Graph) QuietUntil(from Node, needs func(Node) Instant) Instant {
	quiet, left := simtime.Infinity, maxNeighbours
	if len(g.out[from]) > left {
		return simtime.Start
	}
	for _, e := range g.out[from] {
		if e.link == nil {
			if left -= len(g.out[e.to]); left < 0 {
				return simtime.Start
			}
			for _, passed := range g.out[e.to] {
				quiet = simtime.Earlier(quiet, passed.latestFor(g.need(passed.to, needs)))
			}
			continue
		}
		if left--; left < 0 {
			return simtime.Start
		}
		quiet = simtime.Earlier(quiet, e.latestFor(g.need(e.to, needs)))
	}
	return quiet
}

// need returns what waits where a link arrives: for an ear, the least that one of its nodes waits for.
func (g *Graph) need(at vertex, needs func(Node) Instant) Instant {
	if int(at) < g.nodes {
		return needs(Node(at))
	}
	least := simtime.Infinity
	for _, e := range g.out[at] {
		least = simtime.Earlier(least, needs(Node(e.to)))
	}
	return least
}

// latestFor returns the latest instant x for which what is sent at x arrives, after the least delay, at due or before it;
// Infinity for Infinity, and Start where there is none.
func (e edge) latestFor(due Instant) Instant {
	if due == simtime.Infinity {
		return due
	}
	return latestBefore(due, e.link.Min())
}

// latestBefore returns the latest instant x for which x.Add(d) is at i or before it; Start where there is none. i must be
// finite.
func latestBefore(i Instant, d Time) Instant {
	switch {
	case d == 0 && i.Step > 0:
		return Instant{Time: i.Time, Step: i.Step - 1}
	case i.Time >= max(d, 1):
		return Instant{Time: i.Time - max(d, 1), Step: math.MaxUint32}
	}
	return simtime.Start
}

// A latency says when what is sent arrives. It is a Link laid out for the search; links that are alike share one.
type latency struct {
	delay Time
	limit Time // what is sent before it arrives after the delay, at a first step; 0 where that is not all
	link  Link // not nil: it has to be asked
	free  bool // it takes no time: the way to a channel node, or from an ear
}

// never is the latency of a link on which nothing ever arrives.
var never = latency{delay: simtime.Forever}

func (e edge) latency() latency {
	if e.link == nil {
		return latency{free: true}
	}
	if l, ok := e.link.(steadyLink); ok && l.Steady() {
		if d := l.Min(); d > 0 {
			return latency{delay: d, limit: simtime.Forever - d}
		}
		return latency{}
	}
	return latency{link: e.link}
}

// earliest is when the earliest message arrives that is sent at x or later. It is short enough to be inlined.
func (l *latency) earliest(x Instant) Instant {
	if x.Time < l.limit { // most are like that
		return Instant{Time: x.Time + l.delay}
	}
	return l.ask(x)
}

func (l *latency) ask(x Instant) Instant {
	switch {
	case l.link != nil:
		return l.link.Earliest(x)
	case l.free:
		return x
	}
	return x.Add(l.delay)
}

// leastSend is the inverse of earliest: the least x with earliest(x) at due or later. l must not have a link to be asked.
func (l *latency) leastSend(due Instant) Instant {
	switch {
	case l.free || due == simtime.Start:
		return due
	case l.delay > 0 && due == simtime.Infinity:
		return Instant{Time: simtime.Forever - l.delay}
	case l.delay > 0 && due.Step > 0: // arrivals are at a first step
		return Instant{Time: max(0, due.Time+1-l.delay)}
	case l.delay > 0:
		return Instant{Time: max(0, due.Time-l.delay)}
	case due.Step == 0 || due == simtime.Infinity:
		return Instant{Time: due.Time - 1, Step: math.MaxUint32}
	}
	return Instant{Time: due.Time, Step: due.Step - 1}
}

// An adjacency has the links between vertices that have labels. The links to a vertex and those from it lie side by side in
// memory.
type adjacency struct {
	first     []int32 // where in arcs the links to vertex v begin, at 2v, and those from it, at 2v+1
	arcs      []arc
	latencies []latency
}

// An arc is a link as seen from one end.
type arc struct {
	end     vertex // the other one
	latency int32  // its place among the latencies
}

func newAdjacency(out [][]edge) adjacency {
	a := adjacency{}
	known := map[latency]int32{} // of those that need not be asked; looked up, never iterated
	in := make([][]arc, len(out))
	from := make([][]arc, len(out))
	for i := range out {
		for _, e := range out[i] {
			l := e.latency()
			k, met := known[latency{delay: l.delay, limit: l.limit, free: l.free}]
			if l.link != nil || !met {
				k = int32(len(a.latencies))
				a.latencies = append(a.latencies, l)
			}
			if l.link == nil {
				known[l] = k
			}
			from[i] = append(from[i], arc{e.to, k})
			in[e.to] = append(in[e.to], arc{vertex(i), k})
		}
	}
	for i := range out {
		a.first = append(a.first, int32(len(a.arcs)))
		a.arcs = append(a.arcs, in[i]...)
		a.first = append(a.first, int32(len(a.arcs)))
		a.arcs = append(a.arcs, from[i]...)
	}
	a.first = append(a.first, int32(len(a.arcs)))
	return a
}

// sources are the links to a vertex.
func (a *adjacency) sources(v vertex) []arc { return a.arcs[a.first[2*v]:a.first[2*v+1]] }

// targets are the links from a vertex.
func (a *adjacency) targets(v vertex) []arc { return a.arcs[a.first[2*v+1]:a.first[2*v+2]] }
