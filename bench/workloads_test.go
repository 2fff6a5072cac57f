package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// With HELICS's generator and its distributions the workload has HELICS's events, to the last one.
func TestHelicsPholdIsThatOfHelics(t *testing.T) {
	h := newHarness(t)
	for n, want := range map[int]int{1: 16108, 2: 31971, 4: 63855} {
		r, err := h.run(t.Context(), helicsPholdScenario(n, 10_000), placement{transport: "mem"})
		require.NoError(t, err)
		got, err := events(r)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%d clients", n)
	}
}

// PHOLD has the same events wherever its LPs are, about LPs x population x means of them.
func TestPholdIsTheSameEverywhere(t *testing.T) {
	h := newHarness(t)
	size := pholdSize{lps: 64, population: 2, remote: 0.25, lookahead: 0.1}
	var counts []int
	for _, a := range []placement{{transport: "mem"}, {transport: "tcp"}, {transport: "unix", processes: 2}} {
		for _, clients := range []int{1, 3} {
			r, err := h.run(t.Context(), size.scenario(clients, 20), a)
			require.NoError(t, err)
			n, err := events(r)
			require.NoError(t, err)
			counts = append(counts, n)
		}
	}
	assert.InEpsilon(t, 64*2*20, counts[0], 0.1)
	for _, n := range counts {
		assert.Equal(t, counts[0], n)
	}
}

func TestMersenneTwister(t *testing.T) {
	m := newMersenne(5489)
	var last uint32
	for range 10_000 {
		last = m.Uint32()
	}
	assert.Equal(t, uint32(4123659995), last, "the 10000th draw, by the C++ standard")
}

// The first client of a ring hears the token once a round, and a round takes a nanosecond.
func TestRingTakesOneNanosecondARound(t *testing.T) {
	h := newHarness(t)
	r, err := h.run(t.Context(), ringScenario(5, 200), placement{transport: "mem"})
	require.NoError(t, err)
	for _, c := range r.Clients {
		assert.Equal(t, uint64(200), c.Delivered, c.Name)
	}
	assert.Equal(t, metasim.Time(200), r.Totals.End.Time)
}

// What is said for one event does not grow with the time until the next one. Real time decides which frames are joined,
// so the count varies a little.
func TestIdleChainDoesNotCreep(t *testing.T) {
	h := newHarness(t)
	said := func(gap metasim.Time) float64 {
		r, err := h.run(t.Context(), idleScenario(6, 50, gap), placement{transport: "unix"})
		require.NoError(t, err)
		return frames(r) / 50
	}
	short, long := said(100*idleDelay), said(1_000_000*idleDelay)
	assert.InDelta(t, short, long, 0.3*short)
}

func TestTorus(t *testing.T) {
	assert.Equal(t, []int{2, 1, 6, 3}, torus(0, 3))
	for i := range 25 {
		for _, j := range torus(i, 5) {
			assert.Contains(t, torus(j, 5), i, "neighbours are mutual")
		}
	}
}

func TestHeap(t *testing.T) {
	var h eventHeap
	for i := range 100 {
		h.push(timedEvent{at: metasim.Time(i * 37 % 100)})
	}
	for i := range 100 {
		assert.Equal(t, metasim.Time(i), h.pop().at)
	}
}
