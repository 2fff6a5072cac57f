package analysis_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// Tables with long names fit into 80 columns: columns are left out, and then names are shortened.
func TestLongNamesFitIntoTheText(t *testing.T) {
	r := &report.Report{Scenario: "long", WallS: 100, CriticalIdealS: 50, CriticalConservativeS: 80, Clients: []report.ClientReport{}}
	for i := range 14 {
		name := fmt.Sprintf("%02d-%s-%02d", i, strings.Repeat("name", 20), i)
		r.Clients = append(r.Clients, report.ClientReport{Name: name, WorkS: 90, BlockedS: 0.25, Grants: 12345})
		r.Links = append(r.Links, report.LinkReport{From: name, To: name, Channel: name, DeclaredNS: 1, ObservedNS: 123_456_789, HalfNS: 123_456})
		r.WhatIfs = append(r.WhatIfs, predict.Prediction{Change: "link(" + name + "->*).delay=1ns", WallS: 61, ChangesModel: true})
	}
	r.Blame = []report.BlameReport{{Waiting: r.Clients[0].Name, HeldBy: r.Clients[1].Name, BlockedS: 1e-4}, {Waiting: r.Clients[1].Name, BlockedS: 1}}
	r.BlameResolutionS = 1e-3
	r.Advice = []report.Advice{{Text: "declare it on " + r.Links[0].Channel, CostS: 1}}
	var b strings.Builder
	for _, width := range []int{200, 120, 79, 60, 40, 0, 80} {
		b.Reset()
		require.NoError(t, r.WriteText(&b, report.Style{Width: width, Explain: width%40 == 0}))
		for line := range strings.SplitSeq(b.String(), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), max(width, 40), "%q", line)
		}
	}
	var wide strings.Builder
	require.NoError(t, r.WriteText(&wide, report.Style{Width: 300}))
	require.Contains(t, wide.String(), "+124us")
	var colored strings.Builder
	require.NoError(t, r.WriteText(&colored, report.Style{Width: 80, Color: true, Explain: true}))
	require.Equal(t, b.String(), regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored.String(), ""), "colours change nothing else")
	require.NotEqual(t, b.String(), colored.String())
	for _, part := range []string{"..", "-11", "the pace of the run", "... and 2 more: see --json", "were looked up only every", "* this changes the model too"} {
		require.Contains(t, b.String(), part)
	}
}

// The verdict names the largest of what made the run long, and the best change.
func TestVerdict(t *testing.T) {
	verdict := func(w *world) string {
		tl, r := analyze(t, w)
		require.NoError(t, r.Predict(predict.New(tl)))
		return r.Verdict
	}
	slow := &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}}
	slow.actors[1].act = func(metasim.Instant, []metasim.Message) outcome {
		return outcome{work: 90 * us, sends: []string{"PONG0"}}
	}
	require.Equal(t, "b0 is 90 % of the critical path; twice as fast, it saves 45 % of the run", verdict(slow))

	many := &world{config: metasim.Config{Delays: fixed{}, Until: 800 * ms}}
	for i := range 8 { // they pass on a token, so that each is an eighth of the path
		many.actors = append(many.actors, &actor{
			name: fmt.Sprint("w", i), pubs: []string{fmt.Sprint("T", i)}, subs: []string{fmt.Sprint("T", (i+7)%8)},
			first: []metasim.Time{ms, metasim.Forever}[min(i, 1)],
			act: func(metasim.Instant, []metasim.Message) outcome {
				return outcome{work: 10 * us, sends: []string{fmt.Sprint("T", i)}}
			},
		})
		many.config.Delays.(fixed)[fmt.Sprint("T", i)] = ms
	}
	require.Regexp(t, "^the critical path goes through many clients: none of the 8 has more than 1[23] % of it; ", verdict(many))

	far := &world{actors: pair(0, us), flight: 50 * us, timed: true, config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}}
	require.Regexp(t, "^9[0-9] % of the run is transport and dispatcher, and [0-9] % what clients compute on the critical path", verdict(far))

	require.Regexp(t, "^clients wait for one another for [5-9][0-9] % of the run, because of short delays or missing promises; ", verdict(mutex(3)))
}

// mutex are so many clients that act at the same times over links of one step, though they never send.
func mutex(n int) *world {
	w := &world{config: metasim.Config{Delays: fixed{"ALL": 0}, Until: 100 * ms}}
	for i := range n {
		w.actors = append(w.actors, &actor{
			name: fmt.Sprint("m", i), pubs: []string{"ALL"}, subs: []string{"ALL"}, first: metasim.Time(i) * ms,
			act: func(at metasim.Instant, _ []metasim.Message) outcome {
				return outcome{work: 10 * us, next: at.Time + metasim.Time(n)*ms}
			},
		})
	}
	return w
}

// Changes that are asked for are predicted together. Without any, the report has those that help most.
func TestReportPredicts(t *testing.T) {
	tl, r := analyze(t, inTurns(0))
	m := predict.New(tl)
	c, err := m.Parse("link(*->*).delay=3ms")
	require.NoError(t, err)
	require.NoError(t, r.Predict(m, c))
	require.Len(t, r.WhatIfs, 1)
	require.Equal(t, "link(*->*).delay=3ms", r.WhatIfs[0].Change)
	require.True(t, r.WhatIfs[0].ChangesModel)
	require.NoError(t, r.Predict(m))
	require.NotEmpty(t, r.WhatIfs)
	for i, p := range r.WhatIfs {
		require.Positive(t, p.GainShare)
		require.True(t, i == 0 || p.GainShare <= r.WhatIfs[i-1].GainShare)
	}
}

// The beginning of a log has the acts up to its end.
func TestTheBeginningOfALog(t *testing.T) {
	w := &world{config: metasim.Config{Delays: pairDelays(3, ms), Until: 100 * ms}}
	for i := range 3 {
		w.actors = append(w.actors, pair(i, 10*us)...)
	}
	tl, err := trace.Read(record(t, w))
	require.NoError(t, err)
	require.Same(t, tl.Log, tl.Log.Beginning(1_000_000))
	part, acts := tl.Log.Beginning(100), 0
	require.Less(t, part.End, tl.Log.End)
	for i := range part.Clients {
		for _, a := range part.Clients[i].Acts {
			require.Less(t, a.Wall, part.End)
		}
		acts += len(part.Clients[i].Acts)
		require.Equal(t, tl.Log.Clients[i].Acts[:len(part.Clients[i].Acts)], part.Clients[i].Acts)
	}
	require.LessOrEqual(t, acts, 100)
	require.Greater(t, acts, 90)
}

// A run with longer links, beside the run without them: what differs is predicted of the first, and that is what the second took.
func TestBeforeAndAfter(t *testing.T) {
	tlA, a := analyze(t, inTurns(0))
	after := inTurns(3 * ms)
	_, b := analyze(t, after)
	c := report.Compare(a, b, predict.New(tlA), after.config.Delays, []string{"links[0].delay: 0s, 3ms"}, nil)
	require.Equal(t, []string{"link(*->*).delay=3ms"}, c.Changes)
	require.InDelta(t, 0, c.OffShare, 0.02)
	require.Empty(t, append(c.OnlyA, c.OnlyB...))
	var text strings.Builder
	require.NoError(t, c.WriteText(&text, report.Style{Width: 60}))
	require.True(t, strings.HasPrefix(text.String(), "The scenarios differ:\n  links[0].delay: 0s, 3ms\nB takes 50 % less: 500us instead of 1ms.\n"), text.String())
	require.Contains(t, strings.Join(strings.Fields(text.String()), " "), "Was the prediction right? Yes, within ")
	for line := range strings.SplitSeq(text.String(), "\n") {
		require.LessOrEqual(t, len(line), 60, line)
	}

	slow := inTurns(0)
	act := slow.actors[1].act
	slow.actors[1].act = func(at metasim.Instant, got []metasim.Message) outcome {
		d := act(at, got)
		d.work *= 3
		return d
	}
	_, b = analyze(t, slow)
	c = report.Compare(a, b, predict.New(tlA), slow.config.Delays, nil, nil)
	require.Equal(t, []string{"client(b).speed=0.333"}, c.Changes)
	require.InDelta(t, 0, c.OffShare, 0.02)

	a.Transport, b.Transport = "tcp", "shm"
	c = report.Compare(a, b, predict.New(tlA), slow.config.Delays, nil, nil)
	require.Equal(t, []string{"client(b).speed=0.333", "transport=shm"}, c.Changes)
	require.Positive(t, c.PredictedS)

	_, other := analyze(t, mutex(3))
	c = report.Compare(a, other, predict.New(tlA), nil, nil, nil)
	require.Equal(t, []string{"a", "b"}, c.OnlyA)
	require.Equal(t, []string{"m0", "m1", "m2"}, c.OnlyB)
	require.Zero(t, c.PredictedS)
	text.Reset()
	require.NoError(t, c.WriteText(&text, report.Style{Width: 80}))
	require.Contains(t, text.String(), "The scenarios are the same.\nOnly A has a, b.\nOnly B has m0, m1, m2.\nThe clients that both have are compared.")

	fewer := inTurns(0)
	fewer.actors = fewer.actors[:1]
	act = fewer.actors[0].act
	fewer.actors[0].act = func(at metasim.Instant, got []metasim.Message) outcome {
		d := act(at, got)
		d.work *= 3
		return d
	}
	_, other = analyze(t, fewer)
	c = report.Compare(a, other, predict.New(tlA), fewer.config.Delays, nil, nil)
	require.Contains(t, c.Changes, "client(a).speed=0.333")
	require.Zero(t, c.PredictedS, "what A would take with its other clients says nothing of B")
	require.Equal(t, "the runs do not have the same clients", c.Unpredicted)
}
