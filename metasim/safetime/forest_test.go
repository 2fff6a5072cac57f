package safetime

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim/simtime"
)

// A drawn is a random graph whose bounds change as those of a run do, and now and then as they never would.
type drawn struct {
	r      *rand.Rand
	graph  *Graph
	last   []Instant // of each link that keeps the order: what it delivered last
	alarms []Instant // of each node
	forest *Forest
}

func draw(r *rand.Rand) *drawn {
	n := 1 + r.IntN(12)
	leaves := 0
	for i := n; i > 0 && r.IntN(3) > 0; i-- { // more of them at the ends of stars
		leaves++
	}
	d := &drawn{r: r, graph: NewGraph(n + leaves), alarms: make([]Instant, n+leaves)}
	var bounds []Bounds
	for i := range n + leaves {
		b := Bounds{Floor: d.instant(8), Known: d.instant(8), Reaction: []Time{0, 0, 1, 5}[r.IntN(4)]}
		b.Known = simtime.Later(b.Floor, b.Known)
		if i >= n && r.IntN(2) == 0 {
			b = bounds[r.IntN(n)]
		}
		bounds = append(bounds, b)
	}
	if r.IntN(3) == 0 {
		d.couple(n + leaves)
	}
	steadily := r.IntN(4) > 0 // most links are steady
	if r.IntN(3) == 0 {
		d.share(n)
	}
	for range r.IntN(3*n + 1) {
		d.link(r.IntN(n), r.IntN(n), steadily)
	}
	for leaf := n; leaf < n+leaves; leaf++ {
		ends := [2]int{r.IntN(n), leaf}
		for range 1 + r.IntN(3) {
			if r.IntN(2) == 0 {
				slices.Reverse(ends[:])
			}
			d.link(ends[0], ends[1], steadily)
		}
	}
	d.forest = New(d.graph, bounds)
	return d
}

// couple couples some of the nodes, in one group or two.
func (d *drawn) couple(n int) {
	var groups [2][]Node
	for i := range n {
		if k := d.r.IntN(4); k < 2 {
			groups[k] = append(groups[k], Node(i))
		}
	}
	for _, nodes := range groups {
		if len(nodes) > 0 {
			d.graph.Couple(nodes)
		}
	}
}

// share adds a channel node between some of the first n nodes, or leaves.
func (d *drawn) share(n int) {
	var to []Node
	for i := range n {
		if d.r.IntN(3) > 0 {
			to = append(to, Node(i))
		}
	}
	channel := d.graph.AddChannelNode(to, constant([]Time{0, 1, 7}[d.r.IntN(3)]))
	for i := range n {
		if d.r.IntN(3) > 0 {
			d.graph.Feed(Node(i), channel)
		}
	}
}

func (d *drawn) link(from, to int, steadily bool) {
	delay := []Time{0, 0, 1, 2, 5, 20, simtime.Forever}[d.r.IntN(7)]
	var link Link = constant(delay)
	if !steadily || d.r.IntN(8) == 0 {
		k := len(d.last)
		d.last = append(d.last, simtime.Start)
		link = funcLink(func(x Instant) Instant { return simtime.Later(x.Add(delay), d.last[k]) })
	}
	d.graph.Connect(Node(from), Node(to), link)
}

func (d *drawn) instant(most int) Instant {
	if d.r.IntN(15) == 0 {
		return simtime.Infinity
	}
	return Instant{Time: Time(d.r.IntN(most)), Step: uint32(d.r.IntN(6) / 5)}
}

// later draws an instant at i or after it.
func (d *drawn) later(i Instant) Instant {
	if i == simtime.Infinity || d.r.IntN(20) == 0 {
		return simtime.Infinity
	}
	return simtime.Later(i, Instant{Time: i.Time + Time(d.r.IntN(10)), Step: uint32(d.r.IntN(6) / 5)})
}

// change changes the bounds of one node: a report raises them, a message lowers Known to what is safe, or, where wild is
// set, anything happens.
func (d *drawn) change(wild bool) Node {
	node := Node(d.r.IntN(len(d.alarms)))
	b := d.forest.Bounds(node)
	switch {
	case wild && d.r.IntN(8) == 0:
		b.Floor, b.Known = d.instant(40), d.instant(40)
	case d.r.IntN(4) == 0:
		b.Known = simtime.Earlier(b.Known, d.later(d.forest.SafeTime(node)).React(b.Reaction))
	case d.r.IntN(3) == 0:
		b.Floor = d.later(b.Floor)
	default:
		b.Known = d.later(b.Known)
	}
	b.Known = simtime.Later(b.Floor, b.Known)
	d.forest.SetBounds(node, b)
	return node
}

// relink raises one link, and tells the forest of it as a dispatcher does.
func (d *drawn) relink() {
	if len(d.last) == 0 || d.r.IntN(3) > 0 {
		return
	}
	k := d.r.IntN(len(d.last))
	d.last[k] = d.later(d.last[k])
	for from := range d.alarms {
		for _, e := range d.graph.out[from] {
			for to := range d.alarms {
				if e.link != nil && arrival(d.graph.arrivals, Node(to)) == e.to && d.forest.IsParent(Node(from), Node(to)) {
					d.forest.LinkRose(Node(from), Node(to), e.link)
				}
			}
		}
	}
}

// watch lets a node wait for some safe time.
func (d *drawn) watch(node Node) {
	d.alarms[node] = d.later(d.forest.SafeTime(node))
	d.forest.Watch(node, d.alarms[node])
}

// update changes bounds and links, and checks the safe times and which nodes are named.
func (d *drawn) update(t *testing.T, seed, step int, wild bool) {
	before := d.forest.all()
	var changed []Node
	for range 1 + d.r.IntN(3) {
		changed = append(changed, d.change(wild))
	}
	d.relink()
	rose := d.forest.Update()
	after := d.forest.all()
	require.Equal(t, plain(d.forest.bounds, d.graph.out), after, "seed %d step %d", seed, step)
	d.checkParents(t, after, seed, step)
	for i, alarm := range d.alarms {
		named := slices.Contains(rose, Node(i))
		reached := before[i].Before(alarm) && !after[i].Before(alarm)
		require.False(t, reached && !named, "seed %d step %d: node %d has what it waits for", seed, step, i)
		early := after[i].Before(alarm) || after[i] == before[i]
		require.False(t, early && named && !wild, "seed %d step %d: node %d is named for nothing", seed, step, i)
	}
	for _, node := range append(changed, rose...) {
		d.watch(node)
	}
}

// checkParents follows every E one link up: it is what the parent may send, pushed along the link.
func (d *drawn) checkParents(t *testing.T, safe []Instant, seed, step int) {
	for i := range safe {
		from, held := d.forest.parent(vertex(i))
		require.Equal(t, safe[i] != simtime.Infinity, held, "seed %d step %d: vertex %d", seed, step, i)
		if !held {
			continue
		}
		best := simtime.Infinity
		for _, e := range d.graph.out[from] {
			if e.to == vertex(i) {
				best = simtime.Earlier(best, e.earliest(d.forest.bounds[from].Send(safe[from])))
			}
		}
		require.Equal(t, safe[i], best, "seed %d step %d: %d is no parent of vertex %d", seed, step, from, i)
	}
}

// Random graphs of all kinds, with bounds that change in random order: 50,000 states unless -short.
func TestForestAgainstThePlainComputation(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 400
	}
	leaves, channels := 0, 0
	for seed := range rounds {
		d := draw(rand.New(rand.NewPCG(uint64(seed), 7)))
		f := d.forest
		require.Equal(t, plain(f.bounds, d.graph.out), f.all(), "seed %d", seed)
		channels += len(f.bounds) - f.nodes
		for i := range d.alarms {
			d.watch(Node(i))
			if f.places[i].centre != none {
				leaves++
			}
		}
		for step := range 25 {
			d.update(t, seed, step, seed%4 == 0)
		}
	}
	require.Greater(t, leaves, rounds, "too few of them to show anything")
	require.Greater(t, channels, rounds/5, "too few of them to show anything")
}
