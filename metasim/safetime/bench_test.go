package safetime

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim/simtime"
)

// A walk is many nodes that have events of their own, one after the other, and links to others: what safe times cost when
// nothing else is to be paid for.
type walk struct {
	r      *rand.Rand
	graph  *Graph
	forest *Forest
	next   []Instant // event of each node
	ready  []Node    // whose next event is safe
	queued []bool    // of each node: it is ready
}

// walkGap is the mean time from one event of a node to its next one.
const walkGap = 1000

// topologies are the links of n nodes, as `metasim bench --only decision` has them.
var topologies = []struct {
	name  string
	graph func(n int, r *rand.Rand) *Graph
}{
	{"torus-0.1", func(n int, _ *rand.Rand) *Graph { return torus(n, walkGap/10) }},
	{"torus-0.01", func(n int, _ *rand.Rand) *Graph { return torus(n, walkGap/100) }},
	{"random-10-200", func(n int, r *rand.Rand) *Graph { return randomGraph(n, 10, 200, r) }},
	{"random-1-20", func(n int, r *rand.Rand) *Graph { return randomGraph(n, 1, 20, r) }},
	{"star", func(n int, _ *rand.Rand) *Graph { return starGraph(n, walkGap/10) }},
}

func torus(n int, delay Time) *Graph {
	width := 1
	for (width+1)*(width+1) <= n {
		width++
	}
	g := NewGraph(width * width)
	for i := range width * width {
		x, y := i%width, i/width
		for _, to := range []int{y*width + (x+1)%width, y*width + (x+width-1)%width, (y+1)%width*width + x, (y+width-1)%width*width + x} {
			g.Connect(Node(i), Node(to), constant(delay))
		}
	}
	return g
}

func randomGraph(n int, least, most Time, r *rand.Rand) *Graph {
	g := NewGraph(n)
	for i := range n {
		for range 4 {
			delay := least + Time(r.Int64N(int64(most-least+1)))
			g.Connect(Node(i), Node(r.IntN(n)), constant(delay))
		}
	}
	return g
}

func starGraph(n int, delay Time) *Graph {
	g := NewGraph(n)
	for i := 1; i < n; i++ {
		g.Connect(0, Node(i), constant(delay))
		g.Connect(Node(i), 0, constant(delay))
	}
	return g
}

func newWalk(g *Graph, r *rand.Rand) *walk {
	w := &walk{r: r, graph: g, next: make([]Instant, g.nodes), queued: make([]bool, g.nodes)}
	bounds := make([]Bounds, g.nodes)
	for i := range bounds {
		w.next[i] = w.after(simtime.Start)
		bounds[i] = Bounds{Known: w.next[i]}
	}
	w.forest = New(g, bounds)
	for i := range bounds {
		w.look(Node(i))
	}
	return w
}

func (w *walk) after(i Instant) Instant {
	return simtime.At(i.Time + 1 + Time(w.r.ExpFloat64()*walkGap))
}

// look lets a node go on whose next event is safe.
func (w *walk) look(node Node) {
	w.forest.Watch(node, w.next[node].Add(0))
	if !w.queued[node] && w.next[node].Before(w.forest.SafeTime(node)) {
		w.queued[node] = true
		w.ready = append(w.ready, node)
	}
}

// act lets one node, drawn from those that may, execute its event: it promises not to send before it, and names its next.
func (w *walk) act() Node {
	k := w.r.IntN(len(w.ready))
	node := w.ready[k]
	w.ready[k] = w.ready[len(w.ready)-1]
	w.ready = w.ready[:len(w.ready)-1]
	w.queued[node] = false
	now := w.next[node]
	w.next[node] = w.after(now)
	w.forest.SetBounds(node, Bounds{Floor: now, Known: w.next[node]})
	return node
}

// report is an act, and what it does to the safe times of all.
func (w *walk) report() {
	node := w.act()
	for _, rose := range w.forest.Update() {
		w.look(rose)
	}
	w.look(node)
}

// BenchmarkReport is one report: act, and find out whose safe time rises; "plain" finds out as plain does.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		for _, topology := range topologies {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			w := newWalk(topology.graph(n, r), r)
			for range 3 * n {
				w.report()
			}
			b.Run(fmt.Sprintf("%s/n=%d/forest", topology.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w.report()
				}
			})
			if testing.Short() {
				continue
			}
			b.Run(fmt.Sprintf("%s/n=%d/plain", topology.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					plain(w.forest.bounds, w.graph.out)
				}
			})
		}
	}
}

// The walk of the benchmark is a fair one: it never stops, and the forest is right all the way.
func TestWalk(t *testing.T) {
	for _, topology := range topologies {
		r := rand.New(rand.NewPCG(1, 1))
		w := newWalk(topology.graph(49, r), r)
		for range 400 {
			require.NotEmpty(t, w.ready, topology.name)
			w.report()
		}
		require.Equal(t, plain(w.forest.bounds, w.graph.out), w.forest.all(), topology.name)
	}
}
