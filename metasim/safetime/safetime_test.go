package safetime

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim/simtime"
)

var graphs = flag.Int("graphs", 50_000, "for how many random graphs safe times are compared with brute force")

// A web is what safe times are computed from, written down plainly.
type web struct {
	promise, next, pending []Instant // U, N, q
	reaction               []Time
	links                  []webLink
	coupled                []Node // these have one safe time
}

type webLink struct {
	from, to int
	delay    Time
	last     Instant // as of a link that keeps the order
}

func (l webLink) earliest(x Instant) Instant { return simtime.Later(x.Add(l.delay), l.last) }

func drawWeb(r *rand.Rand) *web {
	instant := func() Instant {
		switch r.IntN(12) {
		case 0:
			return simtime.Infinity
		case 1:
			return simtime.Start
		}
		return Instant{Time: Time(r.IntN(30)), Step: uint32(r.IntN(5) / 3)}
	}
	w := &web{}
	n := 1 + r.IntN(7)
	density := r.Float64()
	for i := range n {
		w.promise = append(w.promise, instant())
		w.next = append(w.next, instant())
		w.pending = append(w.pending, instant())
		w.reaction = append(w.reaction, []Time{0, 0, 1, 5}[r.IntN(4)])
		for j := range n {
			if r.Float64() > density {
				continue
			}
			l := webLink{from: i, to: j, delay: []Time{0, 0, 1, 3, 10, simtime.Forever}[r.IntN(6)]}
			if r.IntN(6) == 0 {
				l.last = instant()
			}
			w.links = append(w.links, l)
		}
	}
	if r.IntN(3) == 0 {
		for i := range n {
			if r.IntN(2) == 0 {
				w.coupled = append(w.coupled, Node(i))
			}
		}
	}
	return w
}

// compute asks the plain computation, and a new forest, which must agree.
func (w *web) compute(t *testing.T) []Instant {
	bounds := make([]Bounds, len(w.next))
	for i := range w.next {
		bounds[i] = NewBounds(w.promise[i], w.next[i], w.pending[i], w.reaction[i])
	}
	g := NewGraph(len(w.next))
	if len(w.coupled) > 0 {
		g.Couple(w.coupled)
	}
	for _, l := range w.links {
		var link Link = constant(l.delay)
		if l.last != simtime.Start {
			link = funcLink(l.earliest)
		}
		g.Connect(Node(l.from), Node(l.to), link)
	}
	f := New(g, bounds)
	safe := plain(f.bounds, g.out)
	require.Equal(t, safe, f.all(), "%+v", w)
	return safe[:len(w.next)] // without the ear
}

// once applies the equations of the package comment to safe times.
func (w *web) once(safe []Instant) []Instant {
	better := make([]Instant, len(safe))
	for j := range better {
		better[j] = simtime.Infinity
	}
	for _, l := range w.links {
		i := l.from
		answer := simtime.Earlier(w.pending[i], safe[i]).React(w.reaction[i])
		send := simtime.Later(w.promise[i], simtime.Earlier(w.next[i], answer))
		better[l.to] = simtime.Earlier(better[l.to], l.earliest(send))
	}
	least := simtime.Infinity
	for _, node := range w.coupled {
		least = simtime.Earlier(least, better[node])
	}
	for _, node := range w.coupled {
		better[node] = least
	}
	return better
}

// brute comes down from the top until nothing changes: the greatest solution.
func (w *web) brute(t *testing.T) []Instant {
	safe := make([]Instant, len(w.next))
	for j := range safe {
		safe[j] = simtime.Infinity
	}
	for range len(safe) + 2 {
		next := w.once(safe)
		if fmt.Sprint(next) == fmt.Sprint(safe) {
			return safe
		}
		safe = next
	}
	require.Fail(t, "it does not come to rest", "%+v", w)
	return nil
}

// raise lets one thing that is known grow, as reports and messages do.
func (w *web) raise(r *rand.Rand) {
	i := r.IntN(len(w.next))
	more := func(x *Instant) { *x = x.Add(Time(r.IntN(9))) }
	switch k := r.IntN(5); {
	case k == 0:
		more(&w.promise[i])
	case k == 1:
		more(&w.next[i])
	case k == 2:
		more(&w.pending[i])
	case k == 3 || len(w.links) == 0:
		w.reaction[i] += Time(r.IntN(4))
	default:
		l := &w.links[r.IntN(len(w.links))]
		l.delay = l.delay.Add(Time(r.IntN(4)))
	}
}

// Safe times are the greatest solution of their equations, and never fall when what is known grows.
func TestSafeTimesBrute(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	finite := 0
	for range *graphs {
		w := drawWeb(r)
		safe := w.compute(t)
		require.Equal(t, w.brute(t), safe, "%+v", w)
		require.Equal(t, w.once(safe), safe, "no solution: %+v", w)
		w.raise(r)
		for j, e := range w.compute(t) {
			require.False(t, e.Before(safe[j]), "%d fell from %v to %v: %+v", j, safe[j], e, w)
			if e != simtime.Infinity {
				finite++
			}
		}
	}
	require.Greater(t, finite, *graphs, "the graphs are too empty to show anything")
}
