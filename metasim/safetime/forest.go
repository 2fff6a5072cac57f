package safetime

import (
	"slices"

	"metasim/metasim/simtime"
)

// New returns the forest of a graph, where bounds are those of its nodes, and computes all safe times.
func New(g *Graph, bounds []Bounds) *Forest {
	channels := slices.Repeat([]Bounds{{Known: simtime.Infinity}}, len(g.out)-g.nodes) // they send nothing of themselves
	f := &Forest{nodes: g.nodes, arrivals: g.arrivals, bounds: slices.Concat(bounds, channels), labels: make([]label, len(g.out))}
	var rest [][]edge
	f.stars, f.places, rest = findStars(g.out, f.bounds)
	f.adjacency = newAdjacency(rest)
	for i, s := range f.stars {
		if s != nil {
			f.labels[i].marks = isCentre
		}
	}
	f.rebuild()
	return f
}

// EarliestSend returns S of a node: the earliest that it may still send, as of the last Update.
func (f *Forest) EarliestSend(node Node) Instant { return f.bounds[node].Send(f.SafeTime(node)) }

// Bounds returns the bounds of a node.
func (f *Forest) Bounds(node Node) Bounds { return f.bounds[node] }

// SetBounds says that the bounds of a node are now b. The next Update takes that in.
func (f *Forest) SetBounds(node Node, b Bounds) {
	f.bounds[node] = b
	f.changed = append(f.changed, vertex(node))
}

// IsParent reports whether the safe time of a node comes over a link from another.
func (f *Forest) IsParent(from, to Node) bool {
	return f.labels[arrival(f.arrivals, to)].parent == int32(from)
}

// LinkRose says that a link between two nodes gives later arrivals than before: LinkRose has to be called only where
// IsParent(from, to). The next Update takes that in.
func (f *Forest) LinkRose(from, to Node, link Link) {
	at := arrival(f.arrivals, to)
	if f.labels[at].safe.Before(link.Earliest(f.labels[from].send)) {
		f.relinked = append(f.relinked, at)
	}
}

// Update computes the safe times after what SetBounds and LinkRose said. It returns the nodes whose safe time has reached
// what they wait for, in no particular order; and sometimes others, whose safe time has not changed. The slice is valid until
// the next Update.
func (f *Forest) Update() []Node {
	f.rose, f.open = f.rose[:0], f.open[:0]
	if f.boundsChanged() {
		for _, v := range f.relinked {
			if f.labels[v].marks&isOpen == 0 {
				f.reparent(v)
			}
		}
		f.search()
	} else {
		f.rebuild()
	}
	f.changed, f.relinked = f.changed[:0], f.relinked[:0]
	return f.rose
}

// Watch says that Update is to name the node when its safe time rises to alarm or later.
func (f *Forest) Watch(node Node, alarm Instant) {
	if p := f.places[node]; p.centre != none {
		f.stars[p.centre].watch(p.slot, alarm, f.labels[p.centre].send)
		return
	}
	f.labels[node].alarm = alarm
}

// SafeTime returns the safe time E of a node, as of the last Update.
func (f *Forest) SafeTime(node Node) Instant { return f.safeTime(vertex(node)) }

// Holder returns the node from which the safe time of another comes, be it over a channel node or an ear; false where that is Infinity.
func (f *Forest) Holder(node Node) (holder Node, held bool) {
	v, held := f.parent(vertex(node))
	for held && int(v) >= f.nodes {
		v, held = f.parent(v)
	}
	return Node(v), held
}

func (f *Forest) safeTime(v vertex) Instant {
	if p := f.places[v]; p.centre != none {
		return f.stars[p.centre].safeTime(p.slot, f.labels[p.centre].send)
	}
	return f.labels[v].safe
}

// parent returns the vertex over whose link the E of another comes; false where that is Infinity.
func (f *Forest) parent(v vertex) (parent vertex, held bool) {
	if f.safeTime(v) == simtime.Infinity {
		return 0, false
	}
	if p := f.places[v]; p.centre != none {
		return vertex(p.centre), true
	}
	l := &f.labels[v]
	if l.parent == ownLeaf {
		return f.stars[v].holder(l.safe, l.send), true
	}
	return vertex(l.parent), true
}

// boundsChanged takes in all bounds that were set. It returns false when one fell.
func (f *Forest) boundsChanged() bool {
	for _, v := range f.changed {
		if p := f.places[v]; p.centre != none {
			if !f.leafChanged(v, p) {
				return false
			}
			continue
		}
		s := f.ownSend(v)
		if s.Before(f.labels[v].send) {
			return false
		}
		if f.labels[v].send.Before(s) {
			f.raise(v)
		}
	}
	return true
}

// leafChanged takes in that the bounds of a leaf have changed. It returns false when that lets E of the centre fall.
func (f *Forest) leafChanged(v vertex, p place) bool {
	s, l := f.stars[p.centre], &f.labels[p.centre]
	s.boundChanged(p.slot, &f.bounds[v], l.send)
	least := simtime.Earlier(s.leastOwn(), s.leastEcho(l.send))
	if l.parent == ownLeaf && l.marks&isOpen == 0 && l.safe.Before(least) {
		f.reparent(vertex(p.centre))
	}
	return !least.Before(l.safe)
}

// rebuild computes everything anew. It names all nodes.
func (f *Forest) rebuild() {
	f.risen, f.open = f.risen[:0], f.open[:0]
	for i := range f.labels {
		l := &f.labels[i]
		l.safe, l.send, l.parent, l.marks = simtime.Infinity, simtime.Infinity, none, l.marks&isCentre
	}
	for i := range f.labels {
		if f.places[i].centre == none {
			f.raise(vertex(i))
			f.reopen(vertex(i), offer{simtime.Infinity, none})
		}
		if s := f.stars[i]; s != nil {
			s.rebuild(f.bounds)
		}
	}
	f.search()
	f.rose = f.rose[:0]
	for i := range f.nodes {
		f.rose = append(f.rose, Node(i))
	}
}
