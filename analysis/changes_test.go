package analysis_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// stepper is a worker with another period.
func stepper(name string, period metasim.Time, work int64) *actor {
	a := worker(name, work)
	a.first = period
	act := a.act
	a.act = func(at metasim.Instant, messages []metasim.Message) outcome {
		d := act(at, messages)
		d.next = at.Time + period
		return d
	}
	return a
}

// A client that steps with another period does as much in each step, and others wait for it as often as it steps.
func TestPredictAPeriod(t *testing.T) {
	slowOne := func(period metasim.Time) *world {
		w := &world{timed: true, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 61 * ms}}
		for i := range 3 {
			w.actors = append(w.actors, worker(fmt.Sprint("quick", i), 20*us))
		}
		w.actors = append(w.actors, stepper("slow", period, 100*us))
		return w
	}
	for _, period := range []metasim.Time{2 * ms, 3 * ms, ms / 2, ms / 4} {
		tl, err := trace.Read(record(t, slowOne(ms)))
		require.NoError(t, err)
		m := predict.New(tl)
		c, err := m.Parse(fmt.Sprintf("client(slow).period=%v", period))
		require.NoError(t, err)
		p, err := m.Predict(c)
		require.NoError(t, err)
		require.True(t, p.ChangesModel)
		require.InEpsilon(t, takes(t, slowOne(period)), p.WallS, 0.03, "%v", period)
	}
}

// periodicSource is a stepper that sends on A in each period.
func periodicSource(period metasim.Time) *actor {
	a := stepper("source", period, 10*us)
	a.pubs, a.subs, a.steps = []string{"A"}, nil, false
	act := a.act
	a.act = func(at metasim.Instant, messages []metasim.Message) outcome {
		d := act(at, messages)
		d.sends = []string{"A"}
		return d
	}
	return a
}

// What a client sends in each period causes work elsewhere, as often as it is sent.
func TestPredictThePeriodOfASource(t *testing.T) {
	pipeline := func(period metasim.Time) *world {
		w := &world{timed: true, config: metasim.Config{Delays: fixed{"A": ms, "B": ms}, Until: 100 * ms}}
		w.actors = append(w.actors, periodicSource(period))
		for _, hop := range [][3]string{{"middle", "A", "B"}, {"sink", "B", ""}} {
			w.actors = append(w.actors, &actor{name: hop[0], subs: hop[1:2], pubs: hop[2:], first: metasim.Forever, act: func(metasim.Instant, []metasim.Message) outcome {
				d := outcome{work: 50 * us}
				if hop[2] != "" {
					d.sends = hop[2:]
				}
				return d
			}})
		}
		return w
	}
	for _, period := range []metasim.Time{2 * ms, ms / 2} {
		would, _ := predicted2(t, pipeline(ms), fmt.Sprintf("client(source).period=%v", period))
		require.InEpsilon(t, takes(t, pipeline(period)), would, 0.05, "%v", period)
	}
}

// predicted2 is predicted of a change with which other acts happen, and their share of those that happened.
func predicted2(t *testing.T, w *world, change string) (would, share float64) {
	t.Helper()
	tl, err := trace.Read(record(t, w))
	require.NoError(t, err)
	m := predict.New(tl)
	c, err := m.Parse(change)
	require.NoError(t, err)
	p, err := m.Predict(c)
	require.NoError(t, err)
	return p.WallS, p.WorkShare
}

func TestWhoHasNoPeriod(t *testing.T) {
	tl, err := trace.Read(record(t, &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}}))
	require.NoError(t, err)
	_, err = predict.New(tl).Parse("client(a0).period=2ms")
	require.ErrorContains(t, err, "a0 has no period")
	_, err = predict.New(tl).Parse("client(a0).period=0s")
	require.ErrorContains(t, err, "is not a period")
}

// A client that answers each message of a periodic source later, by a timer, has no period of its own.
func TestTimersThatMessagesSet(t *testing.T) {
	answers := func(period metasim.Time) *world {
		w := &world{timed: true, config: metasim.Config{Delays: fixed{"A": ms / 2, "B": ms / 2}, Until: 100 * ms}}
		late := &actor{name: "late", subs: []string{"A"}, pubs: []string{"B"}, first: metasim.Forever, act: func(at metasim.Instant, messages []metasim.Message) outcome {
			if len(messages) > 0 {
				return outcome{work: 10 * us, next: at.Time + ms/4}
			}
			return outcome{work: 50 * us, sends: []string{"B"}, next: metasim.Forever}
		}}
		w.actors = []*actor{periodicSource(period), late}
		return w
	}
	tl, err := trace.Read(record(t, answers(ms)))
	require.NoError(t, err)
	_, err = predict.New(tl).Parse("client(late).period=2ms")
	require.ErrorContains(t, err, "late has no period")
	would, _ := predicted2(t, answers(ms), "client(source).period=2ms")
	require.InEpsilon(t, takes(t, answers(2*ms)), would, 0.05)
}

// Sixty-four clients in lock step, each a process on unix, make 32,900 grants/s; 588,000 behind one connection, and 871,000 in the server's
// process. So docs/performance.md has it; the simulator is within a factor of one and a half.
func TestPredictPacking(t *testing.T) {
	const steps, clients = 600, 64
	delays := fixed{}
	w := &world{timed: true, flight: 970 * us, config: metasim.Config{Delays: delays, Until: (steps + 1) * ms}}
	for i := range clients {
		a := worker(fmt.Sprintf("w-%d", i), 0)
		out := fmt.Sprint("C", i)
		a.subs, a.pubs, delays[out] = []string{fmt.Sprint("C", (i+1)%clients)}, []string{out}, ms
		a.act = func(at metasim.Instant, _ []metasim.Message) outcome { return outcome{work: 100, next: at.Time + ms} }
		w.actors = append(w.actors, a)
	}
	src := record(t, w)
	src.Cores, src.Transport, src.BuiltIn = 2, "unix", true
	tl, err := trace.Read(src)
	require.NoError(t, err)
	m := predict.New(tl)
	first := clients * w.flight / 2 // before the first report its way counts as work
	for change, grants := range map[string]float64{"client(*).process=1": 588_000, "transport=mem": 871_000} {
		c, err := m.Parse(change)
		require.NoError(t, err)
		p, err := m.Predict(c)
		require.NoError(t, err)
		require.False(t, p.ChangesModel)
		require.InDelta(t, 0, math.Log(steps*clients/grants/(p.WallS-seconds(first))), math.Log(1.5), "%s: %v", change, p.WallS)
	}
	// Half of them in each of two processes are in between.
	var two []predict.Change
	for i := range clients {
		c, err := m.Parse(fmt.Sprintf("client(w-%d).process=%d", i, 1+i%2))
		require.NoError(t, err)
		two = append(two, c)
	}
	p, err := m.Predict(two...)
	require.NoError(t, err)
	require.Less(t, p.WallS, 0.5*seconds(tl.Wall()))

	ranked, err := m.Rank()
	require.NoError(t, err)
	require.Contains(t, ranked[0].Change, "transport=mem")
	require.Contains(t, changesOf(ranked), "client(w-*).process=1")
}

func changesOf(all []predict.Prediction) (texts []string) {
	for _, p := range all {
		texts = append(texts, p.Change)
	}
	return texts
}

// A round trip takes as long over another transport as docs/performance.md has it.
func TestPredictATransport(t *testing.T) {
	src := record(t, &world{actors: pair(0, 100), flight: 20 * us, timed: true, config: metasim.Config{Delays: pairDelays(1, ms), Until: 300 * ms}})
	src.Cores, src.Transport = 2, "tcp"
	tl, err := trace.Read(src)
	require.NoError(t, err)
	m := predict.New(tl)
	for transport, roundTrips := range map[string]float64{"unix": 10_500, "shm": 16_300, "quic": 3_190} {
		c, err := m.Parse("transport=" + transport)
		require.NoError(t, err)
		p, err := m.Predict(c)
		require.NoError(t, err)
		require.InEpsilon(t, 6_810/roundTrips, p.WallS/seconds(tl.Wall()), 0.02, transport)
	}
	_, err = m.Parse("transport=mpi")
	require.ErrorContains(t, err, "write mem, unix, shm, tcp or quic")
	_, err = m.Parse("client(a0).process=x")
	require.ErrorContains(t, err, "is not the number of a process")
	ranked, err := m.Rank()
	require.NoError(t, err)
	require.Equal(t, []string{"transport=shm"}, changesOf(ranked), "metasim does not have these clients, and one place has one best transport")
}
