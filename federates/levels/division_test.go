package levels

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Secondaries take part when performers need them, and levels and models move whatever was measured: the states are those of physics alone, also where secondaries go ahead and begin at checkpoints.
func TestAnyDivisionHasTheSameStates(t *testing.T) {
	const steps, performers = 500, 3
	s, _, _ := serveWith(t, performers, 0, 1, true, false)
	want := hashes(t, s, steps)
	for _, c := range []struct {
		secondaries, ahead, dies int
		auto                     bool
	}{{3, 1, 0, false}, {8, 1, 0, true}, {2, 1, 9, true}, {8, 7, 5, true}} {
		s, p, carrier := serveWith(t, performers, c.secondaries, c.ahead, true, c.auto)
		carrier.dies = c.dies
		random := rand.New(rand.NewPCG(3, uint64(c.secondaries)))
		var got []string
		for len(got) < steps {
			got = append(got, hashes(t, s, 20)...)
			cost := make([]int64, c.secondaries)
			for k := range cost {
				cost[k] = random.Int64N(1e6)
			}
			p.Measured(cost)
		}
		for i := range want {
			require.Equal(t, want[i], got[i], "iteration %d, %+v", i+1, c)
		}
		_, _, moves := p.Balanced()
		starts, retires := p.Started()
		t.Logf("%+v: %d moves, %d starts, %d retired, %v", c, len(moves), starts, retires, p.Shares())
		assert.NotEmpty(t, moves)
		if !c.auto {
			assert.Equal(t, [2]uint64{}, [2]uint64{starts, retires})
			continue
		}
		assert.Greater(t, starts, uint64(1))
		if c.secondaries == 8 {
			assert.NotZero(t, retires)
			assert.Less(t, slices.Min(carrier.present), slices.Max(carrier.present))
		}
		assert.LessOrEqual(t, slices.Max(carrier.present), min(performers, c.secondaries), "no more than performers need")
		assert.Len(t, p.Shares(), slices.Max(carrier.present), "all that took part, and no others")
	}
}

// Loads move from who takes most to who takes least, as long as that helps.
func TestRebalance(t *testing.T) {
	for name, c := range map[string]struct {
		sizes, owners []int // by load
		cost          []float64
		want          []int // owners then
	}{
		"equal":                        {[]int{1, 1}, []int{0, 1}, []float64{10, 10}, []int{0, 1}},
		"nearly equal":                 {[]int{1, 1, 1}, []int{0, 0, 1}, []float64{11, 10}, []int{0, 0, 1}},
		"one has all":                  {[]int{1, 1, 1, 1}, []int{0, 0, 0, 0}, []float64{40, 0}, []int{1, 1, 0, 0}},
		"one load is more than all":    {[]int{9, 1}, []int{0, 1}, []float64{90, 1}, []int{0, 1}},
		"the small one goes":           {[]int{9, 1, 1}, []int{0, 0, 1}, []float64{100, 10}, []int{0, 1, 1}},
		"the one that fits best":       {[]int{5, 3, 1}, []int{0, 0, 0}, []float64{90, 30}, []int{0, 1, 0}},
		"by cost, not by number":       {[]int{1, 1, 1, 1}, []int{0, 0, 1, 1}, []float64{100, 10}, []int{1, 0, 0, 1}},
		"three of them":                {[]int{1, 1, 1}, []int{1, 1, 1}, []float64{0, 30, 0}, []int{0, 2, 1}},
		"nothing was measured":         {[]int{1, 1}, []int{0, 0}, []float64{0, 0}, []int{0, 0}},
		"what costs and moves nothing": {nil, nil, []float64{5, 0}, nil},
	} {
		var loads []burden
		for n := range c.sizes {
			loads = append(loads, burden{level: n, from: c.owners[n], owner: c.owners[n], size: c.sizes[n]})
		}
		moved := rebalance(loads, c.cost)
		var got, changed []int
		for n := range loads {
			got = append(got, loads[n].owner)
			if loads[n].owner != loads[n].from {
				changed = append(changed, n)
			}
		}
		assert.Equal(t, c.want, got, name)
		slices.Sort(moved)
		assert.Equal(t, changed, moved, name)
	}
}

// A level moves with all that is at home in it, and stays there; what was measured first and last is told.
func TestALevelMoves(t *testing.T) {
	s, p, _ := serve(t, 6, 2)
	hashes(t, s, 3)
	p.Measured([]int64{30_000, 0})
	hashes(t, s, 2)
	before, after, moves := p.Balanced()
	require.NotEmpty(t, moves)
	assert.Equal(t, []float64{30_000. / 3, 0}, before)
	assert.Equal(t, before, after)
	for _, m := range moves {
		assert.Equal(t, []string{"secondary-1", "secondary-2"}, []string{m.From, m.To})
		assert.Equal(t, uint64(4), m.Iteration)
		assert.Equal(t, m.Level == "", m.Model != "")
	}
	for _, u := range p.owners.order {
		if u.level >= 0 {
			assert.Equal(t, p.owners.of[u.level], u.home)
		}
	}
	p.Measured([]int64{7}) // of other secondaries: nothing is done with it
	hashes(t, s, 1)
	_, _, again := p.Balanced()
	assert.Equal(t, moves, again)
}
