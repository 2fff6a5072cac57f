package analysis_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// The critical paths, and what each client computed and waited, equal those of the graph of all pieces of work.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRoughWorld(t)
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		r := report.New(tl)
		tw := newTwin(t, w, tl)
		require.Equal(t, seconds(tw.longest(false)), r.CriticalIdealS)
		require.Equal(t, seconds(tw.longest(true)), r.CriticalConservativeS)
		sum := int64(0)
		for i, c := range r.Clients {
			require.Equal(t, seconds(tw.work[i]), c.WorkS)
			require.Equal(t, seconds(tw.blocked[i]), c.BlockedS)
			require.Equal(t, seconds(tl.Wall()-tw.work[i]-tw.blocked[i]), c.OverheadS)
			require.Equal(t, ratio(c.WorkS, seconds(tl.Wall())), c.Utilisation)
			sum += tw.work[i]
		}
		if w.distinct {
			checkCurves(t, tw, r)
		}
		require.InDelta(t, seconds(sum), r.WorkS, 1e-12)
		require.InDelta(t, ratio(seconds(sum), seconds(tl.Wall())), r.Parallelism, 1e-9)
	})
}

// checkCurves sums up all waiting behind a link that a longer delay would end.
func checkCurves(t require.TestingT, tw *twin, r *report.Report) {
	for _, l := range r.Links {
		from, to := slices.Index(tw.d.Names(), l.From), slices.Index(tw.d.Names(), l.To)
		waited := tw.short[metasim.Hop{From: metasim.ClientID(from), To: metasim.ClientID(to), Channel: l.Channel, Min: metasim.Time(l.DeclaredNS)}]
		ends := func(more int64) float64 {
			sum := int64(0)
			for needed, took := range waited {
				if needed <= more {
					sum += took
				}
			}
			return seconds(sum)
		}
		for _, p := range l.MoreDelay {
			require.InDelta(t, ends(p.MoreNS), p.EndsS, 1e-12, l)
		}
		all := ends(int64(metasim.Forever))
		if n := len(l.MoreDelay); n > 0 {
			require.InDelta(t, all, l.MoreDelay[n-1].EndsS, 1e-12)
		} else {
			require.Zero(t, all, l)
		}
		if l.HalfNS < 0 {
			require.LessOrEqual(t, all, l.HeldS/2)
			continue
		}
		require.GreaterOrEqual(t, ends(l.HalfNS), l.HeldS/2-1e-12)
		require.LessOrEqual(t, ends(l.HalfNS-l.HalfNS/8-1), l.HeldS/2+1e-12, "it is known to three binary digits")
	}
}
