package safetime

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim/simtime"
)

// leastSend is the least instant from which a message arrives at due or later.
func TestLeastSend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 50_000 {
		l := latency{delay: []Time{0, 1, 5, simtime.Forever - 2}[r.IntN(4)]}
		if r.IntN(5) == 0 {
			l = latency{free: true}
		}
		due, x := someInstant(r), someInstant(r)
		require.Equal(t, !l.earliest(x).Before(due), !x.Before(l.leastSend(due)), "%+v: %v, sent %v", l, due, x)
	}
}

// At the last step of a time the echo of a centre is a bound still, if not the best.
func TestEchoAtTheLastStep(t *testing.T) {
	for _, delays := range [][2]Time{{0, 1}, {1, 0}, {0, 0}} {
		bounds := []Bounds{{Known: Instant{Time: 3, Step: math.MaxUint32}}, {Known: simtime.Infinity}, {Known: simtime.Infinity}}
		g := NewGraph(3)
		g.Connect(0, 1, constant(delays[0]))
		g.Connect(0, 2, constant(delays[1]))
		g.Connect(1, 0, constant(delays[1]))
		g.Connect(2, 0, constant(delays[0]))
		f := New(g, bounds)
		want := plain(bounds, g.out)
		require.False(t, want[0].Before(f.SafeTime(0)), "%v: %v is not safe", f.SafeTime(0), want[0])
		require.Equal(t, want[1:], f.all()[1:])
	}
}

// A gateway promises up to the last step of a time (docs/adr/0038-nesting.md). When it promises the next time, those who hear it over a channel
// node may go on as far as without one.
func TestPromiseOfTheLastStep(t *testing.T) {
	last := func(time Time) Bounds {
		return NewBounds(Instant{Time: time, Step: math.MaxUint32}, simtime.Start, simtime.Infinity, 0)
	}
	g := NewGraph(3)
	channel := g.AddChannelNode([]Node{1, 2}, constant(0))
	for node := range Node(3) {
		g.Feed(node, channel)
	}
	said := Instant{Time: 42, Step: 1}
	bounds := []Bounds{last(42), NewBounds(said, simtime.At(57), simtime.Infinity, 0), NewBounds(said, simtime.At(43), simtime.Infinity, 0)}
	f := New(g, bounds)
	for time := Time(42); time < 60; time++ {
		f.SetBounds(0, last(time))
		f.Update()
		require.Equal(t, plain(f.bounds, g.out)[:3], f.all()[:3], "promised: %v", last(time).Floor)
		from, held := f.Holder(1)
		require.True(t, held && from < 3, "%v", from)
	}
}
