package sweep

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// To load a run takes as long in a long sweep as in a short one: the values that the file varies are not made again for each run.
func TestARunDoesNotReadTheSweep(t *testing.T) {
	cost := func(runs int) float64 {
		s := newStage(t, fmt.Sprintf("name: n\nclients: [{name: a, model: sink, with: {channels: [A]}}]\nsweep: {seed: {from: 1, to: %d}}\n", runs))
		s.options.Dir = t.TempDir()
		p, text, _, err := newPlan(&s.options)
		require.NoError(t, err)
		require.Equal(t, runs, p.Runs())
		return testing.AllocsPerRun(5, func() {
			sc, err := p.load(text, p.set(1))
			require.NoError(t, err)
			require.Equal(t, uint64(2), sc.Seed)
		})
	}
	require.InDelta(t, cost(2), cost(100_000), 100)
}

// A value in the middle of an axis is not tried before, so its run fails, and says which value it was of what.
func TestAValueThatIsNone(t *testing.T) {
	s := newStage(t, ring)
	s.options.Vary = []string{"seed=1,x,3", "max_steps=1000,1001", "clients.a.with.rounds=2,5"}
	table, did := s.carryOut()
	require.Equal(t, 12, did)
	require.Contains(t, table[5][5], `sweep: seed: is "x", not a seed`)
}
