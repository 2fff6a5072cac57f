package analysis_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// A prediction without changes takes as long as the run, if frames take no time. A small difference remains: if two clients are done at
// the same time, their order may decide how far a third one is authorized.
func TestNothingChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, false)
		w.flight = 0
		for _, a := range w.actors {
			a.merges = false // what it did at which instant is not known
		}
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		p, err := predict.New(tl).Predict()
		require.NoError(t, err)
		require.InDelta(t, seconds(tl.Wall()), p.WallS, 40e-6)
	})
}

// A simple client of the protocol waits again at each authorization, also if nothing came with it. A simulation carries
// out all its acts all the same, so that changes are predicted.
func TestClientsThatWaitAgain(t *testing.T) {
	w := &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}, timed: true, cores: 1}
	for _, a := range w.actors {
		a.again = true
	}
	would, did := predicted(t, w, "cores=2")
	require.InDelta(t, did, would, 0.02*did, "they compute in turns")
}

// Nothing makes a run faster than its rate, also one that hardly kept it.
func TestNothingIsFasterThanTheRate(t *testing.T) {
	src := record(t, &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}, timed: true, cores: 2})
	const took = 0.001 // seconds of wall clock: 100 acts of 10 us, one after another
	src.Rate = 0.099 / (0.9 * took)
	tl, err := trace.Read(src)
	require.NoError(t, err)
	require.InDelta(t, took, seconds(tl.Wall()), 0.1*took)
	m := predict.New(tl)
	c, err := m.Parse("client(*).speed=10")
	require.NoError(t, err)
	p, err := m.Predict(c)
	require.NoError(t, err)
	require.InDelta(t, 0.9*took, p.WallS, 1e-9)
	r := report.New(tl)
	require.NoError(t, r.Predict(m))
	for _, w := range r.WhatIfs {
		require.GreaterOrEqual(t, w.WallS, 0.9*took-1e-9, w.Change)
	}
}

// predicted returns what a world would take with changes, and what it took.
func predicted(t *testing.T, w *world, changes ...string) (would, did float64) {
	t.Helper()
	tl, err := trace.Read(record(t, w))
	require.NoError(t, err)
	m := predict.New(tl)
	var all []predict.Change
	for _, text := range changes {
		c, err := m.Parse(text)
		require.NoError(t, err)
		all = append(all, c)
	}
	p, err := m.Predict(all...)
	require.NoError(t, err)
	require.Equal(t, strings.Join(changes, " "), p.Change)
	require.InDelta(t, 1, p.WorkShare, 1e-9)
	return p.WallS, seconds(tl.Wall())
}

// takes returns what a world takes.
func takes(t *testing.T, w *world) float64 {
	t.Helper()
	tl, err := trace.Read(record(t, w))
	require.NoError(t, err)
	return seconds(tl.Wall())
}

// Two clients that never send, and act in turns, wait for one another only because their links are short, or because they do not
// promise to send nothing.
func TestPredictALongerLinkAndABetterPromise(t *testing.T) {
	for _, change := range []string{"link(*->*).delay=3ms", "client(*).promise=all"} {
		would, did := predicted(t, inTurns(0), change)
		require.InDelta(t, did/2, would, 10.1e-6, change)
		require.InDelta(t, takes(t, inTurns(3*ms)), would, 10.1e-6, change)
	}
	would, did := predicted(t, inTurns(3*ms), "link(a->b).delay=0s", "link(b->a:B).delay=0s")
	require.InDelta(t, 2*did, would, 10.1e-6)
}

// Acts that no report mentions, because no other client needed the report, are inferred from the announced ones: all of them, if the
// client acts every two milliseconds. They take their time in a prediction in which another client needs the reports.
func TestPredictInferredActs(t *testing.T) {
	silent := func(delay metasim.Time) *world {
		w := inTurns(delay)
		w.actors[0].merges, w.actors[0].first = true, 2*ms
		w.actors[1].first = ms
		return w
	}
	tl, err := trace.Read(record(t, silent(200*ms)))
	require.NoError(t, err)
	require.Less(t, tl.Totals.Clients[0].Reports, uint64(5))
	acts := tl.Log.Clients[0].Acts
	require.Len(t, acts, 1+49)
	work := int64(0)
	for i, a := range acts {
		require.Equal(t, metasim.At(metasim.Time(2*i)*ms), a.At)
		work += a.Work
	}
	require.InDelta(t, 49*10*us, work, 100)
	would, did := predicted(t, silent(200*ms), "link(*->*).delay=0s")
	require.InDelta(t, 50*10e-6, did, 1e-9)
	require.InDelta(t, takes(t, silent(0)), would, 10.1e-6)
}

// Clients inside the server's process that compute little take turns, whatever the cores. Those that compute for long do not.
func TestPredictTurns(t *testing.T) {
	for _, work := range []int64{10 * us, 30 * us} {
		w := &world{timed: true, config: metasim.Config{Delays: pairDelays(3, ms), Until: 100 * ms}}
		for i := range 3 {
			w.actors = append(w.actors, pair(i, work)...)
		}
		src := record(t, w)
		for _, a := range w.actors {
			src.Inside = append(src.Inside, a.name)
		}
		src.Cores = 4
		tl, err := trace.Read(src)
		require.NoError(t, err)
		m := predict.New(tl)
		played, err := m.Played()
		require.NoError(t, err)
		c, err := m.Parse("cores=1")
		require.NoError(t, err)
		p, err := m.Predict(c)
		if work < 20*us {
			// The world has no turns, so the simulation of the run as it was takes longer than it did, and is not trusted.
			require.InDelta(t, 3, played.PlayedS/played.MeasuredS, 0.05)
			require.ErrorAs(t, err, new(*predict.UntrustedError))
			continue
		}
		require.InDelta(t, 1, played.PlayedS/played.MeasuredS, 0.05)
		require.NoError(t, err)
		require.InDelta(t, 3, p.WallS/seconds(tl.Wall()), 0.05, "%d", work)
	}
}

// If clients report how long they computed, communication took the rest of the run. With these costs a prediction without changes takes as
// long as the run.
func TestCostsAreFitted(t *testing.T) {
	for _, flight := range []int64{100, 5 * us, 300 * us} {
		w := &world{timed: true, flight: flight, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 20 * ms}}
		for _, name := range []string{"a", "b", "c"} {
			w.actors = append(w.actors, worker(name, 10*us))
		}
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		m := predict.New(tl)
		p, err := m.Predict()
		require.NoError(t, err)
		require.InEpsilon(t, seconds(tl.Wall()), p.WallS, 0.03, "%d", flight)
		c, err := m.Parse("client(*).speed=1000")
		require.NoError(t, err)
		p, err = m.Predict(c)
		require.NoError(t, err)
		w.actors = nil
		for _, name := range []string{"a", "b", "c"} {
			w.actors = append(w.actors, worker(name, 10))
		}
		require.InEpsilon(t, takes(t, &world{timed: true, flight: flight, config: w.config, actors: w.actors}), p.WallS, 0.1, "%d", flight)
	}
}

func TestPredictAFasterClient(t *testing.T) {
	crowd := func(slow int64) *world {
		w := &world{flight: 3 * us, timed: true, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 20 * ms}}
		for _, name := range []string{"a", "b", "c"} {
			w.actors = append(w.actors, worker(name, 10*us))
		}
		w.actors = append(w.actors, worker("slow", slow))
		return w
	}
	would, did := predicted(t, crowd(100*us), "client(slow).speed=4")
	require.InDelta(t, takes(t, crowd(25*us)), would, 0.02*did)
	would, did = predicted(t, crowd(100*us), "client(slow).speed=0.5")
	require.InDelta(t, takes(t, crowd(200*us)), would, 0.02*did)
	would, _ = predicted(t, crowd(100*us), "client(a).speed=2")
	require.InDelta(t, did, would, 0.02*did, "it is not slow")
}

func TestPredictCores(t *testing.T) {
	pairs := func() *world {
		w := &world{config: metasim.Config{Delays: pairDelays(3, ms), Until: 100 * ms}}
		for i := range 3 {
			w.actors = append(w.actors, pair(i, 10*us)...)
		}
		return w
	}
	would, did := predicted(t, pairs(), "cores=1")
	require.InDelta(t, 3*did, would, 1e-12)
	would, did = predicted(t, pairs(), "cores=8")
	require.InDelta(t, did, would, 1e-12)
	would, did = predicted(t, pairs(), "cores=2")
	require.InDelta(t, 1.5*did, would, 20e-6)
}

// Clients that shared two cores go twice as fast on four, and no faster on more cores than clients.
func TestPredictMoreCores(t *testing.T) {
	would, did := predicted(t, crowd(8, 2), "cores=4")
	require.InEpsilon(t, takes(t, crowd(8, 4)), would, 0.05)
	require.InEpsilon(t, 2, did/would, 0.05)
	would, _ = predicted(t, crowd(8, 2), "cores=99")
	require.InEpsilon(t, takes(t, crowd(8, 8)), would, 0.1)
	would, _ = predicted(t, crowd(8, 4), "cores=1")
	require.InEpsilon(t, takes(t, crowd(8, 1)), would, 0.05)
}

// A message that comes later delays what it causes, and nothing else.
func TestPredictKeepsTheWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, false)
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		m := predict.New(tl)
		played, err := m.Played()
		require.NoError(t, err)
		if !played.Trusted {
			return // nothing is predicted
		}
		var all []predict.Change
		for _, text := range []string{
			"link(c0->*).delay=" + rapid.SampledFrom([]string{"0s", "1ns", "5ns", "17ns"}).Draw(t, "longer"), "client(c*).promise=all",
			"client(c0).promise=3ns", "client(c0).reaction=2ns", "cores=1", "client(*).speed=3",
		} {
			c, err := m.Parse(text)
			if err != nil {
				require.ErrorContains(t, err, "no message can go", text)
				continue
			}
			all = append(all, c)
			p, err := m.Predict(c)
			require.NoError(t, err, text)
			require.InDelta(t, 1, p.WorkShare, 1e-9, text)
		}
		p, err := m.Predict(all...)
		require.NoError(t, err)
		require.InDelta(t, 1, p.WorkShare, 1e-9)
	})
}
