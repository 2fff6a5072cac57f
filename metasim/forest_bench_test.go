package metasim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A meadow is many clients that have events of their own, one after the other, and links to others: what safe times cost
// when nothing else is to be paid for.
type meadow struct {
	r      *rand.Rand
	out    [][]edge
	forest *forest
	next   []Instant // event of each client
	ready  []ClientID
	queued []bool
}

// meadowGap is the mean time from one event of a client to its next one.
const meadowGap = 1000

// topologies are the links of n clients, as `metasim bench --only decision` has them.
var topologies = []struct {
	name string
	out  func(n int, r *rand.Rand) [][]edge
}{
	{"torus-0.1", func(n int, _ *rand.Rand) [][]edge { return torusEdges(n, meadowGap/10) }},
	{"torus-0.01", func(n int, _ *rand.Rand) [][]edge { return torusEdges(n, meadowGap/100) }},
	{"random-10-200", func(n int, r *rand.Rand) [][]edge { return randomEdges(n, 10, 200, r) }},
	{"random-1-20", func(n int, r *rand.Rand) [][]edge { return randomEdges(n, 1, 20, r) }},
	{"star", func(n int, _ *rand.Rand) [][]edge { return starEdges(n, meadowGap/10) }},
}

func torusEdges(n int, d Time) [][]edge {
	width := 1
	for (width+1)*(width+1) <= n {
		width++
	}
	out := make([][]edge, width*width)
	for i := range out {
		x, y := i%width, i/width
		for _, to := range []int{y*width + (x+1)%width, y*width + (x+width-1)%width, (y+1)%width*width + x, (y+width-1)%width*width + x} {
			out[i] = append(out[i], edge{to: ClientID(to), link: constant(d)})
		}
	}
	return out
}

func randomEdges(n int, least, most Time, r *rand.Rand) [][]edge {
	out := make([][]edge, n)
	for i := range out {
		for range 4 {
			d := least + Time(r.Int64N(int64(most-least+1)))
			out[i] = append(out[i], edge{to: ClientID(r.IntN(n)), link: constant(d)})
		}
	}
	return out
}

func starEdges(n int, d Time) [][]edge {
	out := make([][]edge, n)
	for i := 1; i < n; i++ {
		out[0] = append(out[0], edge{to: ClientID(i), link: constant(d)})
		out[i] = []edge{{to: 0, link: constant(d)}}
	}
	return out
}

func newMeadow(out [][]edge, r *rand.Rand) *meadow {
	n := len(out)
	m := &meadow{r: r, out: out, next: make([]Instant, n), queued: make([]bool, n)}
	bounds := make([]bound, n)
	for i := range bounds {
		m.next[i] = m.after(Start)
		bounds[i] = bound{known: m.next[i]}
	}
	m.forest = newForest(bounds, out)
	for i := range n {
		m.look(ClientID(i))
	}
	return m
}

func (m *meadow) after(i Instant) Instant { return At(i.Time + 1 + Time(m.r.ExpFloat64()*meadowGap)) }

// look lets a client go on whose next event is safe.
func (m *meadow) look(id ClientID) {
	m.forest.watch(id, m.next[id].Add(0))
	if !m.queued[id] && m.next[id].Before(m.forest.safeTime(id)) {
		m.queued[id] = true
		m.ready = append(m.ready, id)
	}
}

// act lets one client, drawn from those who may, execute its event: it promises not to send before it, and names its next.
func (m *meadow) act() []ClientID {
	k := m.r.IntN(len(m.ready))
	id := m.ready[k]
	m.ready[k] = m.ready[len(m.ready)-1]
	m.ready = m.ready[:len(m.ready)-1]
	m.queued[id] = false
	now := m.next[id]
	m.next[id] = m.after(now)
	m.forest.bounds[id] = bound{floor: now, known: m.next[id]}
	return []ClientID{id}
}

// report is an act, and what it does to the safe times of all.
func (m *meadow) report() {
	changed := m.act()
	for _, id := range m.forest.update(changed, nil) {
		m.look(id)
	}
	m.look(changed[0])
}

// BenchmarkReport is one report: act, and find out whose safe time rises. (plain) finds out as safeTimes does.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		for _, topology := range topologies {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			m := newMeadow(topology.out(n, r), r)
			for range 3 * n {
				m.report()
			}
			b.Run(fmt.Sprintf("%s/n=%d/forest", topology.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					m.report()
				}
			})
			if testing.Short() {
				continue
			}
			b.Run(fmt.Sprintf("%s/n=%d/plain", topology.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					safeTimes(m.forest.bounds, m.out)
				}
			})
		}
	}
}

// The walk of the benchmark is a fair one: it never stops, and the forest is right all the way.
func TestMeadow(t *testing.T) {
	for _, topology := range topologies {
		r := rand.New(rand.NewPCG(1, 1))
		m := newMeadow(topology.out(49, r), r)
		for range 400 {
			require.NotEmpty(t, m.ready, topology.name)
			m.report()
		}
		require.Equal(t, safeTimes(m.forest.bounds, m.out), m.forest.all(), topology.name)
	}
}
