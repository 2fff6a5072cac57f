package analysis_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/internal/problem"
	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/record/journal"
)

// A journal that breaks off is reported up to there, even if its last entry lacks effects.
func TestTornJournals(t *testing.T) {
	full := record(t, &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 10 * ms}})
	entries := full.Journal.(*memoryJournal).entries
	for n := range entries {
		for _, lame := range []bool{false, true} {
			cut := append([]journal.Entry{}, entries[:n]...)
			if lame && n > 0 {
				cut[n-1].Effects = nil
			}
			src := full
			src.Journal = &memoryJournal{entries: cut, end: &journal.TornError{Reason: "it was cut"}}
			tl, err := trace.Read(src)
			require.NoError(t, err)
			require.ErrorContains(t, tl.Torn, "it was cut")
			r := report.New(tl)
			require.Contains(t, r.Torn, "it was cut")
			checkBlameOf(t, r)
			_, err = predict.New(tl).Predict()
			require.NoError(t, err)
			require.NoError(t, r.Predict(predict.New(tl)))
		}
	}
}

// checkBlameOf checks that each client waited for others for as long as it was blocked.
func checkBlameOf(t *testing.T, r *report.Report) {
	t.Helper()
	blamed := map[string]float64{}
	for _, b := range r.Blame {
		blamed[b.Waiting] += b.BlockedS
	}
	for _, c := range r.Clients {
		require.InDelta(t, c.BlockedS, blamed[c.Name], 1e-12)
	}
}

func TestRefuses(t *testing.T) {
	full := record(t, &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 10 * ms}})
	entries := full.Journal.(*memoryJournal).entries

	other := full
	other.Config.Delays = pairDelays(1, 2*ms)
	other.Journal = &memoryJournal{entries: entries}
	_, err := trace.Read(other)
	var diverged *trace.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.ErrorContains(t, err, "metasim replay says where")

	fewer := full
	fewer.Config.Clients = []string{"a0"}
	fewer.Journal = &memoryJournal{entries: entries}
	_, err = trace.Read(fewer)
	require.ErrorIs(t, err, journal.ErrForeign)

	broken := full
	broken.Journal = &memoryJournal{entries: entries[:9], end: errors.New("the disk is gone")}
	_, err = trace.Read(broken)
	require.EqualError(t, err, "the disk is gone")
}

// The number of stored grants and messages is bounded. The sums are not.
func TestLimits(t *testing.T) {
	read := func(limit int) (*trace.Timeline, *report.Report) {
		src := record(t, &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}})
		src.MaxGrants, src.MaxMessages = limit, limit
		tl, err := trace.Read(src)
		require.NoError(t, err)
		return tl, report.New(tl)
	}
	all, full := read(0)
	require.Zero(t, all.DroppedGrants+all.DroppedMessages)
	some, part := read(20)
	require.Len(t, some.Grants, 20)
	require.Len(t, some.Messages, 20)
	require.Equal(t, len(all.Grants), 20+int(some.DroppedGrants))
	require.Equal(t, len(all.Messages), 20+int(some.DroppedMessages))
	require.Equal(t, full, part)
	p, err := predict.New(some).Predict()
	require.NoError(t, err)
	require.InDelta(t, full.WallS, p.WallS, 0.15*full.WallS)
}

// There is advice on a subscription that brought no message though the client waited for it, unless its sender holds the client back
// anyway.
func TestAdviceOnSilence(t *testing.T) {
	advice := func(useful, silent metasim.Time, end error) (unused []report.Advice, r *report.Report) {
		w := inTurns(1 * ms) // a and b might send on A and B and never do
		w.config.Delays = fixed{"A": silent, "B": silent, "USED": useful}
		for _, a := range w.actors {
			a.pubs = append(a.pubs, "USED")
			a.subs, a.steps = append(a.subs, "USED", "[A-Z]+"), true // the last of use for USED alone
			act := a.act
			a.act = func(at metasim.Instant, m []metasim.Message) outcome {
				d := act(at, m)
				d.sends = []string{"USED"}
				return d
			}
		}
		src := record(t, w)
		src.Journal.(*memoryJournal).end = end
		tl, err := trace.Read(src)
		require.NoError(t, err)
		r = report.New(tl)
		for _, a := range r.Advice {
			if a.Kind == problem.UnusedSubscription {
				unused = append(unused, a)
			}
		}
		return unused, r
	}
	unused, r := advice(5*ms, 0, nil)
	require.Len(t, unused, 2)
	require.GreaterOrEqual(t, unused[0].CostS, unused[1].CostS)
	require.Greater(t, unused[0].CostS, 0.02*r.WallS)
	const advised = " subscribes to %s and waited for it, but %s never sent anything on it; remove the subscription, or let %[2]s promise (Promise)"
	require.Contains(t, []string{"a" + fmt.Sprintf(advised, "B", "b"), "b" + fmt.Sprintf(advised, "A", "a")}, unused[0].Text)

	unused, _ = advice(5*ms, 0, &journal.TornError{Reason: "it was cut"})
	require.Empty(t, unused, "something may have come later")
	unused, _ = advice(0, 0, nil)
	require.Empty(t, unused, "USED holds them as much")
	unused, _ = advice(5*ms, 5*ms, nil)
	require.Empty(t, unused, "nobody waited")
}

// A client inside of a scenario subscribes to an expression, and hears an exposed channel by it. The report does not call that subscription unused.
func TestAdviceInsideAScenario(t *testing.T) {
	scopes := scope.Set{}
	require.NoError(t, scopes.Add(&scope.Nested{Name: "cell", Expose: map[string]string{"IN_A": "PING0"}}))
	subs, err := scopes["cell"].Subscriptions("IN_.*")
	require.NoError(t, err)
	require.Len(t, subs, 2)
	w := &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 10 * ms}}
	w.actors = append(w.actors, &actor{name: "cell/x", subs: subs, first: metasim.Forever, act: func(metasim.Instant, []metasim.Message) outcome { return outcome{} }})
	tl, _ := analyze(t, w)
	unused := func() bool {
		return slices.ContainsFunc(report.New(tl).Advice, func(a report.Advice) bool { return a.Kind == problem.UnusedSubscription })
	}
	require.True(t, unused(), "nobody publishes anything inside of it")
	tl.Scopes = scopes
	require.False(t, unused())
}

func TestAdvice(t *testing.T) {
	quiet := func(name string, subs ...string) *actor {
		return &actor{name: name, subs: subs, first: metasim.Forever, act: func(metasim.Instant, []metasim.Message) outcome { return outcome{} }}
	}
	w := &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, 0), Until: 10 * ms}}
	rounds := 0
	w.actors[1].act = func(metasim.Instant, []metasim.Message) outcome {
		if rounds++; rounds == 20 {
			return outcome{work: 10 * us}
		}
		return outcome{work: 10 * us, sends: []string{"PONG0"}}
	}
	w.actors = append(w.actors, quiet("x", "PIN.*", "NOTHING", "NONE.*"), quiet("y", "PING0"))
	tl, r := analyze(t, w)
	var kinds, texts []string
	for _, a := range r.Advice {
		kinds, texts = append(kinds, a.Kind), append(texts, a.Text)
	}
	require.Equal(t, []string{problem.OneStepLink, problem.OneStepLink, problem.ZeroDelayCycle, problem.UnusedSubscription, problem.UnusedSubscription}, kinds, texts)
	require.Contains(t, texts[2], "a0 and b0 answer one another while simulated time stands still, so they compute in turns; a delay on one of the links between them lets")
	require.Contains(t, texts[3], "x subscribes to NOTHING, which no client publishes")

	require.NoError(t, r.Predict(predict.New(tl)))
	for _, a := range r.Advice {
		require.Equal(t, problem.UnusedSubscription, a.Kind, "each waits for the answer of the other, so a delay saves nothing: %s", a.Text)
		require.Empty(t, a.WhatIf)
	}
	require.Len(t, r.Advice, 2)
}

// Advice is given only if its own change, predicted alone, saves something. It says how much.
func TestAdviceGains(t *testing.T) {
	check := func(t require.TestingT, w *world) *report.Report {
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		r := report.New(tl)
		m := predict.New(tl)
		require.NoError(t, r.Predict(m))
		for _, a := range r.Advice {
			if a.CostS == 0 {
				continue
			}
			c, err := m.Parse(a.WhatIf)
			require.NoError(t, err)
			p, err := m.Quick(c)
			require.NoError(t, err)
			require.Equal(t, p.GainShare, a.GainShare)
			require.GreaterOrEqual(t, a.GainShare, 0.005, a.Text)
		}
		return r
	}
	r := check(t, inTurns(0))
	require.Len(t, r.Advice, 4, "two links, and the subscriptions behind them")
	require.Equal(t, problem.OneStepLink, r.Advice[0].Kind)
	require.Greater(t, r.Advice[0].GainShare, 0.2)
	rapid.Check(t, func(t *rapid.T) { check(t, drawRoughWorld(t)) })
}

// Clients that answer one another at one instant, and compute at the same time all the same, are not said to compute in turns.
func TestInTurnsIsSaidOnlyOfThoseWhoDo(t *testing.T) {
	answers := func(busy int64) string {
		w := &world{config: metasim.Config{Delays: fixed{"PING0": 0, "PONG0": 0, "TICK": 0}, Until: 50 * ms}}
		clock := &actor{name: "clock", pubs: []string{"TICK"}, first: ms}
		clock.act = func(at metasim.Instant, _ []metasim.Message) outcome {
			return outcome{sends: []string{"TICK"}, next: at.Time + ms}
		}
		w.actors = pair(0, 10*us)
		w.actors[0].first = metasim.Forever
		for i, a := range w.actors {
			a.subs = append(a.subs, "TICK")
			out := a.pubs[0]
			a.act = func(at metasim.Instant, got []metasim.Message) outcome {
				if got[0].Channel == "TICK" {
					d := outcome{work: busy} // both at once
					if i == 0 {
						d.sends = []string{out}
					}
					return d
				}
				d := outcome{work: 10 * us}
				if i == 1 {
					d.sends = []string{out}
				}
				return d
			}
		}
		w.actors = append(w.actors, clock)
		_, r := analyze(t, w)
		for _, a := range r.Advice {
			if a.Kind == problem.ZeroDelayCycle {
				return a.Text
			}
		}
		return ""
	}
	require.Contains(t, answers(0), "so they compute in turns")
	require.Contains(t, answers(50*us), "a0 and b0 answer one another while simulated time stands still; a delay")
}

// A client that always takes a while to answer could declare its reaction time. A client that answers at once cannot promise more.
func TestAdviceOnPromises(t *testing.T) {
	advice := func(after metasim.Time) []report.Advice {
		w := &world{config: metasim.Config{Delays: fixed{"ASK": ms, "ANSWER": ms}, Until: 100 * ms}}
		asker := &actor{name: "asker", pubs: []string{"ASK"}, subs: []string{"ANSWER"}}
		asker.act = func(at metasim.Instant, _ []metasim.Message) outcome {
			d := outcome{work: 10 * us, next: at.Time/ms*ms + ms}
			if at.Time%(10*ms) == 0 {
				d.sends = []string{"ASK"}
			}
			return d
		}
		answerer := &actor{name: "answerer", pubs: []string{"ANSWER"}, subs: []string{"ASK"}, first: metasim.Forever}
		answerer.act = func(at metasim.Instant, got []metasim.Message) outcome {
			d := outcome{work: 100 * us, next: at.Time + after}
			if len(got) == 0 || after == 0 {
				d.sends, d.next = []string{"ANSWER"}, metasim.Forever
			}
			return d
		}
		w.actors = []*actor{answerer, asker}
		_, r := analyze(t, w)
		return slices.DeleteFunc(r.Advice, func(a report.Advice) bool { return a.Kind != problem.MissingPromise })
	}
	require.Empty(t, advice(0))
	given := advice(3 * ms)
	require.Len(t, given, 1)
	require.Equal(t, "answerer", given[0].Client)
	require.Contains(t, given[0].Text, "never sent anything sooner than 3ms after a message")
	require.Greater(t, given[0].CostS, 10*100e-6/2)
}

// A client that ticks often and sends seldom should promise more than the next tick.
func TestAdviceOnTicks(t *testing.T) {
	ticker := func(out, in string, busy metasim.Time) *actor {
		a := &actor{name: out, pubs: []string{out}, subs: []string{in}}
		a.act = func(at metasim.Instant, _ []metasim.Message) outcome {
			d := outcome{work: 10 * us, next: at.Time/ms*ms + ms}
			if at.Time/(10*ms)%2 == busy { // now the one has much to do, now the other
				d.work = 100 * us
			}
			if at.Time%(200*ms) == 0 {
				d.sends = []string{out}
			}
			return d
		}
		return a
	}
	w := &world{
		actors: []*actor{ticker("a", "b", 0), ticker("b", "a", 1)},
		config: metasim.Config{Delays: fixed{"a": ms, "b": ms}, Until: 500 * ms},
	}
	_, r := analyze(t, w)
	require.Greater(t, r.LookaheadPrice, 1.5)
	require.NotEmpty(t, r.Advice)
	require.Equal(t, problem.MissingPromise, r.Advice[0].Kind)
	require.Contains(t, r.Advice[0].Text, "announced 1 %; let it promise")
}
