package analysis

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// However many clients share the cores, and whatever they say, there is no more work than the cores can do.
func TestWorkIsNoMoreThanCoresCanDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRoughWorld(t)
		w.timed, w.cores = true, rapid.IntRange(1, 4).Draw(t, "cores")
		tr, err := newTracer(record(t, w))
		require.NoError(t, err)
		for _, pass := range passes(w.entries) {
			require.NoError(t, tr.take(pass))
		}
		tl, err := tr.close()
		require.NoError(t, err)
		r := New(tl)
		guessed := int64(0) // too much, and not paid back before the end
		for i := range tr.clients {
			c := &tr.clients[i].cores
			guessed += max(0, c.given-c.due)
		}
		cores := float64(w.cores)
		require.LessOrEqual(t, r.CPUS, cores*r.WallS+1e-12)
		require.LessOrEqual(t, r.WorkS, cores*r.WallS+seconds(guessed)+1e-12)
		require.LessOrEqual(t, r.CriticalIdealS, r.CriticalConservativeS+1e-12)
		require.LessOrEqual(t, r.CriticalConservativeS, r.WallS+1e-12)
		checkProfile(t, tl, r)
	})
}

// crowd are clients who all compute in each step of a millisecond and share the cores.
func crowd(clients, cores int) *world {
	w := &world{timed: true, cores: cores, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 50 * ms}}
	for i := range clients {
		w.actors = append(w.actors, worker(fmt.Sprint("w", i), 10*us))
	}
	return w
}

// Eight who share two cores are two at once, and what that costs is the price of the machine.
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

// What a grant tells at its end decides.
func TestCorewatch(t *testing.T) {
	grant := func(w *corewatch, cpu int64, running int, computed ...int64) (work int64) {
		crowded := w.crowded
		w.begin(crowded)
		for i, c := range computed {
			if running > 2 {
				crowded += c
			}
			l := lap{computed: c}
			if l.last = i == len(computed)-1; l.last {
				l.cpu = cpu
			}
			work += w.work(l, c, crowded, running, 2)
		}
		return work
	}
	for name, c := range map[string]struct {
		cpu     int64
		running int
		work    int64
	}{
		"it computed": {1000, 2, 1000},
		"it waited for something else, as cores idled":    {300, 2, 1000},
		"it waited for one of two cores that eight share": {250, 8, 250},
		"it slept":               {10, 8, 1000},
		"nobody knows":           {0, 8, 1000},
		"it had several threads": {3000, 8, 1000},
	} {
		require.Equal(t, c.work, grant(&corewatch{}, c.cpu, c.running, 1000), name)
	}
	w := &corewatch{}
	require.Equal(t, int64(800), grant(w, 500, 4, 800, 200), "the end of it comes too late")
	require.Equal(t, int64(200), grant(w, 500, 4, 800, 200), "what was too much is paid back")
	require.Equal(t, int64(500), grant(w, 500, 4, 800, 200), "now it is known how it goes")
}
