package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// In the server's process a client that computes for long has a worker to itself, which has to wake up. Where that takes a seventh of the run,
// as on a virtual machine, the simulation takes as long as the run did. On one core nothing wakes up on another.
func TestWorkersWakeUp(t *testing.T) {
	lockstep := func(flight int64) *world {
		w := &world{timed: true, flight: flight, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 100 * ms}}
		for i, name := range []string{"a", "b", "c"} { // in turn one of them takes longer, and the workers of the others sleep
			a := worker(name, 0)
			act := a.act
			a.act = func(at metasim.Instant, messages []metasim.Message) outcome {
				d := act(at, messages)
				if d.work = 30 * us; int(at.Time/ms)%3 == i {
					d.work = 100 * us
				}
				return d
			}
			w.actors = append(w.actors, a)
		}
		return w
	}
	model := func(flight int64) (*trace.Timeline, *predict.Model) {
		src := record(t, lockstep(flight))
		src.Inside, src.Cores, src.Rounds = []string{"a", "b", "c"}, 4, 99*3*us
		tl, err := trace.Read(src)
		require.NoError(t, err)
		return tl, predict.New(tl)
	}
	tl, m := model(15 * us)
	played, err := m.Played()
	require.NoError(t, err)
	require.True(t, played.Trusted, "played %v, measured %v", played.PlayedS, played.MeasuredS)
	require.InEpsilon(t, played.MeasuredS, played.PlayedS, 0.02)
	c, err := m.Parse("cores=1")
	require.NoError(t, err)
	p, err := m.Predict(c)
	require.NoError(t, err)
	require.InEpsilon(t, 99*160e-6, p.WallS, 0.1, "of %v", seconds(tl.Wall()))

	_, m = model(300 * us)
	played, err = m.Played()
	require.NoError(t, err)
	require.False(t, played.Trusted, "no worker takes half a millisecond to wake up")
}

// Where the manifest says how long the rounds of the server took, the rest of what communication costs is waking up, and on one core no
// process wakes up on another.
func TestWakeUpsAreWhatRoundsAreNot(t *testing.T) {
	const hops = 100
	one := func(flight, rounds int64) (predict.Played, float64) {
		src := record(t, &world{actors: pair(0, 10*us), flight: flight, timed: true, config: metasim.Config{Delays: pairDelays(1, ms), Until: hops * ms}})
		src.Cores, src.Rounds = 2, rounds
		tl, err := trace.Read(src)
		require.NoError(t, err)
		m := predict.New(tl)
		c, err := m.Parse("cores=1")
		require.NoError(t, err)
		p, err := m.Predict(c)
		require.NoError(t, err)
		played, err := m.Played()
		require.NoError(t, err)
		return played, p.WallS
	}
	on := func(rounds int64) float64 {
		_, s := one(40*us, rounds)
		return s
	}
	// A round takes 10 us, and so do the other three ends of frames: of 90 us a hop, 2 x 20 us are waking up.
	require.InEpsilon(t, hops*50e-6, on(hops*10*us), 0.15)
	// Rounds that take far longer than usual wake other cores up, as on a virtual machine: one core has nothing to do with that.
	_, slow := one(100*us, hops*45*us)
	require.Less(t, slow, hops*90e-6)
	require.Greater(t, slow, hops*60e-6)
	require.Greater(t, on(0), hops*55e-6, "nothing was measured, and waking up is a small part of the usual costs")

	for _, flight := range []int64{100, us, 5 * us, 40 * us, 500 * us, 20_000 * us} { // the last to a distant host
		played, _ := one(flight, hops*10*us)
		require.Less(t, played.Error(), 0.02, "%d ns each way: played %v of %v", flight, played.PlayedS, played.MeasuredS)
	}
}
