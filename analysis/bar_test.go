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

// No conclusion of a report contradicts another one, over 300 random runs: no prediction is below what the work alone takes, or below what one
// client computes; what is listed gains more than the error of the simulation; and advice that a change can follow gains too.
func TestNoContradictions(t *testing.T) {
	trusted := 0
	for seed := range 300 {
		w := rapid.Custom(func(t *rapid.T) *world {
			w := drawRoughWorld(t)
			w.timed = true
			if rapid.Bool().Draw(t, "shared") {
				w.cores, w.measured = rapid.IntRange(1, 4).Draw(t, "cores"), rapid.Bool().Draw(t, "measured")
				sleeps := rapid.Int64Range(0, 50).Draw(t, "sleeps") * us
				for _, a := range w.actors {
					act := a.act
					a.act = func(at metasim.Instant, messages []metasim.Message) outcome {
						d := act(at, messages)
						d.sleep = sleeps
						return d
					}
				}
			}
			return w
		}).Example(seed)
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		r := report.New(tl)
		require.NoError(t, r.Predict(predict.New(tl)))
		if r.Played != nil && r.Played.Trusted {
			trusted++
		}
		noContradiction(t, seed, r)
	}
	require.Greater(t, trusted, 150, "a report without predictions contradicts nothing")
}

func noContradiction(t *testing.T, seed int, r *report.Report) {
	t.Helper()
	const little = 1e-9
	busiest := 0.0
	for _, c := range r.Clients {
		busiest = max(busiest, c.WorkS)
	}
	for _, b := range r.Bounds {
		require.LessOrEqual(t, b.LeastS, b.MostS+little, "seed %d, %d cores", seed, b.Cores)
		if b.PlayedS > 0 {
			require.GreaterOrEqual(t, b.PlayedS, b.LeastS-little, "seed %d, %d cores", seed, b.Cores)
			require.GreaterOrEqual(t, b.PlayedS, busiest-little, "seed %d, %d cores", seed, b.Cores)
		}
	}
	if r.Played == nil || !r.Played.Trusted {
		require.Empty(t, r.WhatIfs, "seed %d", seed)
		require.NotEmpty(t, r.Unpredicted, "seed %d", seed)
		return
	}
	for i, p := range r.WhatIfs {
		require.Greater(t, p.GainShare, 0.0, "seed %d: %s", seed, p.Change)
		require.GreaterOrEqual(t, p.GainShare, r.Played.Error(), "seed %d: %s", seed, p.Change)
		if strings.Contains(p.Change, ".period=") { // less work, which comes last
			require.Equal(t, len(r.WhatIfs)-1, i, "seed %d: %s", seed, p.Change)
			continue
		}
		if !p.ChangesModel { // other delays are other paths
			require.GreaterOrEqual(t, p.WallS, r.CriticalIdealS-little, "seed %d: %s", seed, p.Change)
		}
		require.GreaterOrEqual(t, p.WallS, busiest-little, "seed %d: %s", seed, p.Change)
		if i > 0 {
			require.LessOrEqual(t, p.GainShare, r.WhatIfs[i-1].GainShare, "seed %d", seed)
		}
	}
	for _, a := range r.Advice {
		if a.WhatIf != "" {
			require.GreaterOrEqual(t, a.GainShare, r.Played.Error(), "seed %d: %s", seed, a.Text)
		}
	}
}
