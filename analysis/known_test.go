package analysis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
	"metasim/internal/problem"
	"metasim/metasim"
	"metasim/record/journal"
)

// Two clients that answer one another never compute at once, whatever the delays: there is one message.
func TestTwoInAMutexHaveAParallelismOfOne(t *testing.T) {
	w := &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}}
	tl, r := analyze(t, w)
	require.InDelta(t, 1, r.Parallelism, 1e-9)
	require.InDelta(t, 100*10e-6, r.WallS, 1e-12) // at 1 ns, and every millisecond after that
	require.InDelta(t, r.WallS, r.CriticalIdealS, 1e-12)
	require.InDelta(t, 1, r.LookaheadPrice, 1e-9)
	require.InDelta(t, 1, r.CorePrice, 1e-9)
	require.Len(t, r.Blame, 2)
	for _, b := range r.Blame {
		require.NotEqual(t, b.Waiting, b.HeldBy)
		require.InDelta(t, 50*10e-6, b.BlockedS, 1.5e-5)
	}
	for _, g := range tl.Grants {
		require.True(t, g.Critical == g.Work, "%+v", g)
	}
}

// Pairs that are independent of one another do not slow one another down.
func TestIndependentPairsAddUp(t *testing.T) {
	for _, k := range []int{1, 3, 8} {
		w := &world{config: metasim.Config{Delays: pairDelays(k, ms), Until: 100 * ms}}
		for i := range k {
			w.actors = append(w.actors, pair(i, 10*us)...)
		}
		_, r := analyze(t, w)
		require.InDelta(t, float64(k), r.Parallelism, 1e-9)
		require.InDelta(t, r.WallS, r.CriticalConservativeS, 1e-12)
	}
}

// In a pipeline each stage computes while the next one computes what it got before. So all stages compute at once, except at the
// beginning and at the end.
func TestPipeline(t *testing.T) {
	const stages, n, work = 4, 50, 10 * us
	w := &world{config: metasim.Config{Delays: fixed{}, Until: (n + stages + 1) * ms}}
	for i := range stages {
		in, out := fmt.Sprint("S", i), fmt.Sprint("S", i+1)
		w.config.Delays.(fixed)[out] = ms
		a := &actor{name: fmt.Sprint("stage-", i), pubs: []string{out}, subs: []string{in}, first: metasim.Forever}
		a.act = func(metasim.Instant, []metasim.Message) outcome { return outcome{work: work, sends: []string{out}} }
		if i == 0 {
			a.subs, a.first = nil, ms
			a.act = func(at metasim.Instant, _ []metasim.Message) outcome {
				d := outcome{work: work, sends: []string{out}, next: at.Time + ms}
				if at.Time == n*ms {
					d.next = metasim.Forever
				}
				return d
			}
		}
		w.actors = append(w.actors, a)
	}
	_, r := analyze(t, w)
	require.InDelta(t, stages*n*work/1e9, r.WorkS, 1e-12)
	require.InDelta(t, (n+stages-1)*work/1e9, r.WallS, 1e-12)
	require.InDelta(t, r.WallS, r.CriticalIdealS, 1e-12)
	require.InDelta(t, float64(stages*n)/(n+stages-1), r.Parallelism, 1e-9)
}

// All clients wait for the slow one, and the report says so.
func TestASlowClientHoldsTheOthers(t *testing.T) {
	w := &world{config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 20 * ms}}
	for i := range 4 {
		w.actors = append(w.actors, worker(fmt.Sprint("fast-", i), 10*us))
	}
	w.actors = append(w.actors, worker("slow", 100*us))
	_, r := analyze(t, w)
	require.InDelta(t, 19*100e-6, r.WallS, 1e-12)
	require.InDelta(t, (100+4*10)/100., r.Parallelism, 1e-9)
	for _, b := range r.Blame {
		require.Equal(t, "slow", b.HeldBy)
		require.InDelta(t, 18*90e-6, b.BlockedS, 1e-12) // in the last step all know that it is the last
	}
	require.Len(t, r.Blame, 4)
	slow := r.Clients[4]
	require.Equal(t, "slow", slow.Name)
	require.InDelta(t, r.WallS, slow.CriticalS, 1e-12)
	require.InDelta(t, r.WallS/2, slow.TwiceAsFastS, 1e-12)
	require.InDelta(t, 4*18*90e-6, slow.HeldS, 1e-12)
	require.InDelta(t, 0, slow.BlockedS, 1e-12)
}

// If clients report how long they computed, transport is overhead, to the nanosecond.
func TestWorkIsWhatClientsTell(t *testing.T) {
	w := &world{actors: pair(0, 10*us), flight: 5 * us, timed: true, config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}}
	_, r := analyze(t, w)
	require.InDelta(t, 100*10e-6, r.WorkS-2*5e-6, 1e-12, "but for the way of the first report, before anybody has told anything")
	require.InDelta(t, 100*10e-6, r.CriticalIdealS-5e-6, 1e-12)
	require.InDelta(t, r.WallS/r.CriticalIdealS, r.CorePrice, 1e-9)
	require.Greater(t, r.WallS, 100*20e-6)
}

// A client that leaves after its last act does not say how long that took. It is work all the same, without the way of the authorization and of
// the Leave.
func TestTheLastActIsWork(t *testing.T) {
	w := &world{flight: 5 * us, timed: true, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 100 * ms}}
	w.actors = []*actor{worker("a", 10*us), worker("b", 10*us)}
	for i := range w.actors {
		act := w.actors[i].act
		w.actors[i].act = func(at metasim.Instant, messages []metasim.Message) outcome {
			d := act(at, messages)
			if d.leave = at.Time >= 50*ms; d.leave {
				d.work = 3_000_000
			}
			return d
		}
	}
	_, r := analyze(t, w)
	for _, c := range r.Clients {
		require.InDelta(t, 50*10e-6+3e-3, c.WorkS, 30e-6, "the first act too, and the way of its report")
	}
}

// A transport that takes time is neither work nor lookahead.
func TestTransportIsOverhead(t *testing.T) {
	w := &world{actors: pair(0, 10*us), flight: 5 * us, config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}}
	_, r := analyze(t, w)
	for _, c := range r.Clients {
		require.InDelta(t, r.WallS, c.WorkS+c.BlockedS+c.OverheadS, 1e-12)
	}
	// Where clients tell how long they computed, transport is not taken for work.
	w = &world{actors: pair(0, 10*us), flight: 5 * us, timed: true, config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}}
	_, r = analyze(t, w)
	require.InDelta(t, r.WallS-r.CriticalConservativeS, r.Machine.TransportS, 1e-12)
	require.InDelta(t, 100, r.Machine.Hops, 1)
	require.InDelta(t, 10e-6, r.Machine.TransportS/100, 1e-6, "to the dispatcher and back")

	r.About(&journal.Manifest{Transport: "unix", Traffic: &journal.Traffic{Wakeups: 200, RoundsS: 200 * 3e-6}})
	require.InDelta(t, 100*3e-6, r.Machine.RoundsS, 3e-6+1e-12)
	require.InDelta(t, r.WallS-r.CriticalConservativeS, r.Machine.RoundsS+r.Machine.TransportS, 1e-12)
	for _, c := range r.Clients {
		require.InDelta(t, 50*3e-6, c.DispatcherS, 3e-6+1e-12, "of %d grants", c.Grants)
		require.InDelta(t, 50*7e-6, c.TransportS, 30e-6, "a flight to the client and one back, without the round")
	}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text, report.Style{Width: 200}))
	require.Regexp(t, `(?m)^transport +\S+ +\d+ % +\S+$`, text.String())
	require.Regexp(t, `(?m)^dispatcher +30[03]us +\d+ % +3us$`, text.String())
	require.Contains(t, text.String(), "- transport: put clients that answer one another into one process, or take transport shm on one host\n")
}

// inTurns are two clients that act in turns. They might send to one another, but never do.
func inTurns(delay metasim.Time) *world {
	w := &world{config: metasim.Config{Delays: fixed{"A": delay, "B": delay}, Until: 100 * ms}}
	for i, name := range []string{"a", "b"} {
		w.actors = append(w.actors, &actor{
			name: name, pubs: []string{string(rune('A' + i))}, subs: []string{string(rune('B' - i))}, first: metasim.Time(i) * ms,
			act: func(at metasim.Instant, _ []metasim.Message) outcome {
				return outcome{work: 10 * us, next: at.Time + 2*ms}
			},
		})
	}
	return w
}

// Over links of one step neither may compute while the other does. Longer links let them.
func TestShortLinksMakeAMutex(t *testing.T) {
	const n, work = 50, 10 * us
	_, r := analyze(t, inTurns(0))
	require.InDelta(t, 1, r.Parallelism, 1e-9)
	require.InDelta(t, n*work/1e9, r.CriticalIdealS, 1e-12)
	require.InDelta(t, 2*n*work/1e9, r.CriticalConservativeS, 1e-12)
	require.InDelta(t, 2, r.LookaheadPrice, 1e-9)
	require.Equal(t, problem.OneStepLink, r.Advice[0].Kind)
	require.InDelta(t, r.WallS/2, r.Advice[0].CostS, 2*work/1e9)

	_, r = analyze(t, inTurns(3*ms))
	require.InDelta(t, 2, r.Parallelism, 1e-9)
	require.InDelta(t, 1, r.LookaheadPrice, 1e-9)
	require.Empty(t, r.Advice)
}

// No client goes on before all have initialized, so all wait for the last one.
func TestTheLastToInitializeHoldsTheOthers(t *testing.T) {
	w := &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 3 * ms}}
	w.actors = append(w.actors, worker("idle", 0))
	w.actors[1].late = 500 * us
	_, r := analyze(t, w)
	require.Equal(t, report.BlameReport{Waiting: "a0", HeldBy: "b0", BlockedS: 500e-6 + 10e-6}, r.Blame[0])
	require.Equal(t, report.BlameReport{Waiting: "idle", HeldBy: "b0", BlockedS: 500e-6}, r.Blame[1])
	require.InDelta(t, 500e-6+30e-6, r.WallS, 1e-12)
	require.InDelta(t, r.WallS, r.CriticalConservativeS, 1e-12)
	require.InDelta(t, 500e-6+10e-6, r.Clients[1].WorkS, 1e-12)
}

// A client that has left takes part in nothing: that time is neither transport nor work.
func TestWhoHasLeftIsAbsent(t *testing.T) {
	w := &world{flight: 5 * us, timed: true, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: 100 * ms}}
	for _, name := range []string{"a", "b", "early"} {
		w.actors = append(w.actors, worker(name, 10*us))
	}
	act := w.actors[2].act
	w.actors[2].act = func(at metasim.Instant, messages []metasim.Message) outcome {
		d := act(at, messages)
		d.leave = at.Time >= 50*ms
		return d
	}
	_, r := analyze(t, w)
	require.InEpsilon(t, r.WallS/2, r.Clients[2].AbsentS, 0.03)
	require.InDelta(t, 50*10e-6, r.Clients[2].TransportS, 20e-6, "a flight to the client and one back for each step")
	require.Less(t, r.Clients[0].AbsentS, 0.03*r.WallS)
	var text strings.Builder
	require.NoError(t, r.WriteText(&text, report.Style{Width: 250}))
	require.Regexp(t, `(?m)^client .* transport +absent `, text.String())
}
