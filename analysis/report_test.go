package analysis_test

import (
	"fmt"
	"strings"
	"testing"

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
	var b strings.Builder
	require.NoError(t, r.WriteText(&b, 0))
	for line := range strings.SplitSeq(b.String(), "\n") {
		require.LessOrEqual(t, len(line), 80, line)
	}
	for _, part := range []string{"..", "-11", "the pace of the run", "... and 2 more: see --json", "+124us", "were looked up only every", "* this changes the model too"} {
		require.Contains(t, b.String(), part)
	}
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
