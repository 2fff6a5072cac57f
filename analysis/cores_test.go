package analysis_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// However many clients share the cores, the processor time is no more than the cores can do, and the critical paths fit into the run.
func TestSharedCores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRoughWorld(t)
		w.timed, w.cores = true, rapid.IntRange(1, 4).Draw(t, "cores")
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		r := report.New(tl)
		cores := float64(w.cores)
		require.LessOrEqual(t, r.CPUS, cores*r.WallS+1e-12)
		require.LessOrEqual(t, r.CriticalIdealS, r.CriticalConservativeS+1e-12)
		require.LessOrEqual(t, r.CriticalConservativeS, r.WallS+1e-12)
		checkProfile(t, tl, r)
	})
}

// crowd returns clients that all compute in each step of a millisecond and share the cores.
func crowd(clients, cores int) *world {
	w := &world{timed: true, cores: cores, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 50 * ms}}
	for i := range clients {
		w.actors = append(w.actors, worker(fmt.Sprint("w", i), 10*us))
	}
	return w
}

// Of eight clients that share two cores, two compute at once. That is the price of the machine.
func TestAMachineWithTooFewCores(t *testing.T) {
	_, r := analyze(t, crowd(8, 2))
	require.Equal(t, 2, r.Cores)
	require.InDelta(t, 2, r.Parallelism, 0.05)
	require.InDelta(t, 49*10e-6, r.CriticalIdealS, 20e-6)
	require.InDelta(t, 8, r.WorkS/r.CriticalIdealS, 0.4)
	require.InDelta(t, 1, r.LookaheadPrice, 0.05)
	require.InDelta(t, 4, r.CorePrice, 0.2)
	require.InDelta(t, 49*8*10e-6, r.CPUS, 1e-12)
	require.InDelta(t, 49*8*27e-6, r.CoreWaitS, 49*8*3e-6, "with slices of a microsecond, who is done first waited for 27 us, and the last for 30")
	_, r = analyze(t, crowd(8, 8))
	require.InDelta(t, 8, r.Parallelism, 0.05)
	require.InDelta(t, 1, r.CorePrice, 0.05)
	require.Zero(t, r.CoreWaitS)
}
