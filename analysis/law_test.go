package analysis_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
	"metasim/record/journal"
)

// drawWorld makes a run of a few actors with any links between them.
//
// Where distinct, no two ways from one to another take the same time, so that no two hold a third alike.
func drawWorld(t *rapid.T, distinct bool) *world {
	delays := fixed{}
	w := &world{flight: rapid.Int64Range(0, 3).Draw(t, "flight") * us, config: metasim.Config{Delays: delays, Until: 30}}
	w.timed = rapid.Bool().Draw(t, "timed")
	n := rapid.IntRange(1, 5).Draw(t, "clients")
	w.distinct = distinct
	if distinct {
		w.config.Until, w.config.Delays = 30*much, skewed{delays}
	}
	for i := range n {
		name := fmt.Sprint("c", i)
		out := fmt.Sprint("OUT", i)
		delays[out] = metasim.Time(rapid.IntRange(0, 4).Draw(t, "delay"))
		a := &actor{
			name: name, pubs: []string{out}, first: metasim.Time(rapid.IntRange(0, 9).Draw(t, "first")),
			steps: rapid.Bool().Draw(t, "steps"), merges: rapid.Bool().Draw(t, "merges"),
		}
		if a.first == 9 && !a.steps {
			a.first = metasim.Forever
		}
		for j := range n {
			if j != i && rapid.Bool().Draw(t, "hears") {
				a.subs = append(a.subs, fmt.Sprint("OUT", j))
			}
		}
		period := metasim.Time(rapid.IntRange(1, 9).Draw(t, "period"))
		works := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 5).Draw(t, "works")
		answers := rapid.Bool().Draw(t, "answers")
		lasts := rapid.IntRange(3, 60).Draw(t, "lasts")
		k := 0
		a.act = func(at metasim.Instant, messages []metasim.Message) outcome {
			k++
			d := outcome{work: works[k%len(works)] * us, leave: k == lasts}
			if a.timer == metasim.Infinity && a.first != metasim.Forever {
				d.next = at.Time + period
			}
			if d.next > 0 || answers && at.Step < 3 {
				d.sends = []string{out}
			}
			return d
		}
		if distinct {
			delays[out] *= much
			if a.first != metasim.Forever {
				a.first = much*a.first + skew(name)
			}
			period *= much
		}
		w.actors = append(w.actors, a)
	}
	return w
}

// drawRoughWorld makes one where links lose, double and delay what goes over them, and where clients are late, are silent at
// times, and promise while they compute.
func drawRoughWorld(t *rapid.T) *world {
	w := drawWorld(t, rapid.Bool().Draw(t, "distinct"))
	if rapid.Bool().Draw(t, "ragged") {
		w.config.Delays = ragged{w.config.Delays}
	}
	for _, a := range w.actors {
		a.late = rapid.Int64Range(0, 3).Draw(t, "late") * 5 * us
		a.promises = a.steps && rapid.Bool().Draw(t, "promises")
		size := rapid.IntRange(0, 3).Draw(t, "size")
		speaks := rapid.IntRange(1, 3).Draw(t, "speaks")
		act, k := a.act, 0
		a.act = func(at metasim.Instant, messages []metasim.Message) outcome {
			k++
			d := act(at, messages)
			if d.size = size * k; k%speaks > 0 {
				d.sends = nil
			}
			return d
		}
	}
	return w
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRoughWorld(t)
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		r := report.New(tl)
		require.LessOrEqual(t, r.CriticalIdealS, r.CriticalConservativeS+1e-12)
		require.LessOrEqual(t, r.CriticalConservativeS, r.WallS+1e-12)
		require.LessOrEqual(t, r.WorkS, float64(len(r.Clients))*r.WallS+1e-12)
		require.LessOrEqual(t, r.WorkS, float64(len(r.Clients))*r.CriticalConservativeS+r.WallS+1e-9)
		m := r.Machine
		require.InDelta(t, r.WallS-r.CriticalConservativeS, m.PacedS+m.CoreWaitS+m.RoundsS+m.TransportS, 1e-12)
		r.About(&journal.Manifest{Traffic: &journal.Traffic{Wakeups: 100, RoundsS: float64(rapid.IntRange(0, 100).Draw(t, "rounds")) * 1e-6}})
		for _, c := range r.Clients {
			require.InDelta(t, c.OverheadS, c.AbsentS+c.CoreWaitS+c.DispatcherS+c.TransportS, 1e-12)
			for _, s := range []float64{c.AbsentS, c.CoreWaitS, c.DispatcherS, c.TransportS} {
				require.GreaterOrEqual(t, s, -1e-12, c.Name)
			}
		}
		checkBlame(t, r)
		checkGrants(t, tl, r)
		checkProfile(t, tl, r)
		checkCritical(t, tl)
	})
}

// checkBlame checks that all blocked time of a client is attributed to other clients.
func checkBlame(t require.TestingT, r *report.Report) {
	blamed := map[string]float64{}
	for _, b := range r.Blame {
		blamed[b.Waiting] += b.BlockedS
		require.NotEqual(t, b.Waiting, b.HeldBy)
		require.NotEmpty(t, b.HeldBy, "nobody paced the run")
	}
	critical := 0.0
	for _, c := range r.Clients {
		require.InDelta(t, c.BlockedS, blamed[c.Name], 1e-12, c.Name)
		critical += c.CriticalS
	}
	require.InDelta(t, r.CriticalConservativeS, critical, 1e-9, "the critical path is somebody's work")
}

// checkGrants checks that a client's grants follow one another, and that the holds of a grant fill its blocked interval.
func checkGrants(t require.TestingT, tl *trace.Timeline, r *report.Report) {
	last := make([]int64, len(tl.Names))
	work := make([]float64, len(tl.Names))
	for _, g := range tl.Grants {
		require.LessOrEqual(t, last[g.Client], g.Polled)
		require.LessOrEqual(t, g.Granted, g.Reported)
		require.LessOrEqual(t, g.Work, g.Reported-g.Granted)
		last[g.Client] = g.Reported
		at := g.Polled
		for _, h := range tl.Holds[g.Holds[0]:g.Holds[1]] {
			require.Equal(t, at, h.Begin)
			require.Less(t, h.Begin, h.End)
			at = h.End
		}
		require.Equal(t, g.Granted, at)
		work[g.Client] += seconds(g.Work)
	}
	for i, c := range r.Clients {
		require.LessOrEqual(t, work[i], c.WorkS+1e-12)
	}
}

// checkCritical checks that the parts of the critical path do not overlap, that each lies in a grant or a start, and that those of a client
// and those of a grant add up to what the tables say.
func checkCritical(t require.TestingT, tl *trace.Timeline) {
	last := tl.Begin
	sums := make([]int64, len(tl.Names))
	for _, p := range tl.Critical {
		require.LessOrEqual(t, last, p.Begin, "the path is at two clients at once")
		require.Less(t, p.Begin, p.End)
		last = p.End
		sums[p.Client] += p.End - p.Begin
	}
	for i, sum := range sums {
		require.Equal(t, tl.Totals.Clients[i].Critical, sum, tl.Names[i])
	}
	within := func(id metasim.ClientID, begin, end int64) (sum int64) {
		for _, p := range tl.Critical {
			if p.Client == id && p.Begin < end && p.End > begin {
				require.True(t, begin <= p.Begin && p.End <= end, "a part goes beyond its grant")
				sum += p.End - p.Begin
			}
		}
		return sum
	}
	for i, s := range tl.Starts {
		require.LessOrEqual(t, s.Critical, s.Work)
		require.Equal(t, s.Critical, within(metasim.ClientID(i), tl.Begin, s.End))
		sums[i] -= s.Critical
	}
	for _, g := range tl.Grants {
		require.LessOrEqual(t, g.Critical, g.Work)
		require.Equal(t, g.Critical, within(g.Client, g.Granted, g.Reported))
		sums[g.Client] -= g.Critical
	}
	for i, rest := range sums {
		require.Zero(t, rest, tl.Names[i])
	}
}

// checkProfile checks that the profile and the histogram are of the same run.
func checkProfile(t require.TestingT, tl *trace.Timeline, r *report.Report) {
	sum, running, begin := 0.0, 0.0, tl.Begin
	for _, s := range tl.Profile {
		require.Less(t, begin, s.End)
		require.LessOrEqual(t, s.Computing, s.Running+1e-9, "who computes is authorized to")
		sum += s.Computing * float64(s.End-begin)
		running += s.Running * float64(s.End-begin)
		begin = s.End
	}
	if len(tl.Profile) > 0 {
		require.Equal(t, tl.End, begin)
	}
	require.InDelta(t, r.WorkS*1e9, sum, 1)
	times, work := int64(0), int64(0)
	for n, took := range tl.Running {
		times += took
		work += int64(n) * took
	}
	require.Equal(t, tl.Wall(), times)
	require.InDelta(t, running, float64(work), 1)
	require.LessOrEqual(t, r.WorkS*1e9, running+1)
}

// The blame is the same as if it were asked for after every entry.
func TestBlameIsFoundWhenItChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, true)
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		require.Equal(t, plainBlame(t, w), pairsOf(tl))
	})
}

func pairsOf(tl *trace.Timeline) map[[2]metasim.ClientID]int64 {
	pairs := map[[2]metasim.ClientID]int64{}
	for _, p := range tl.Totals.Pairs {
		pairs[[2]metasim.ClientID{p.Waiting, p.HeldBy}] = p.Blocked
	}
	return pairs
}

// plainBlame finds which client waited for which in the plain way: it asks for each client whenever time has passed. All clients of a world
// initialize at one time, so none waits in the epsilon tick.
func plainBlame(t require.TestingT, w *world) map[[2]metasim.ClientID]int64 {
	d, err := metasim.New(w.config)
	require.NoError(t, err)
	pairs := map[[2]metasim.ClientID]int64{}
	for i, e := range w.entries {
		if i > 0 && e.Wall > w.entries[i-1].Wall {
			for id := range w.actors {
				if id := metasim.ClientID(id); d.Status(id).Waiting {
					chain := d.Blame(nil, id)
					require.NotEmpty(t, chain)
					pairs[[2]metasim.ClientID{id, chain[len(chain)-1].From}] += e.Wall - w.entries[i-1].Wall
				}
			}
		}
		if e.Event != nil {
			d.Step(e.Event)
		} else {
			d.Settle()
		}
	}
	return pairs
}
