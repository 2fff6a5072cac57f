package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A short soak: what make soak does with a thousand times as much.
func TestSoak(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	require.NoError(t, soak(t.Context(), 20_000, 20, 20*time.Millisecond, ""))
}

// The slope is that of the measures, and what is left of a run is found.
func TestGrowthIsFound(t *testing.T) {
	var measures []measure
	for i := range 100 {
		measures = append(measures, measure{36 * float64(i), 1e6 + 1e4*float64(i)/100 + float64(i%2)})
	}
	slope, deviation, mean := slopeOf(measures)
	require.InDelta(t, 1, slope, 0.01)
	require.Less(t, deviation, 0.001)
	require.InDelta(t, 1e6, mean, 1e4)
	for i := range 20 { // a few that are far off change nothing
		measures[30+3*i].bytes *= 2
	}
	odd, _, _ := slopeOf(measures)
	require.InDelta(t, slope, odd, 0.2)
	slope, _, _ = slopeOf(measures[:3])
	require.True(t, math.IsNaN(slope))
	require.Contains(t, growth(measures), "grew by 1.00 ± 0.00")
	require.Contains(t, growth(nil), "measured 0 times")
	require.True(t, count{2, 1, 1}.exceeds(count{1, 5, 5}))
	require.False(t, count{1, 1, 1}.exceeds(count{1, 1, 1}))
}

// Who waits for hours is told how long it will take.
func TestProgress(t *testing.T) {
	require.Equal(t, "300 of 1500 messages delivered in 60 s, 5 a second; the rest takes 240 s at that rate", progress(300, 1500, time.Minute))
}

// A gauge that has many measures keeps half of them, takes them half as often, and does not grow.
func TestGaugeDoesNotGrow(t *testing.T) {
	g := newGauge(time.Second, 1)
	for i := range mostMeasures + 1 {
		g.add(measure{float64(i), 1})
	}
	require.Len(t, g.measures, mostMeasures/2+1)
	require.Equal(t, mostMeasures, cap(g.measures))
	require.Equal(t, 2*time.Second, g.every)
	require.Equal(t, []float64{0, 2, mostMeasures}, []float64{g.measures[0].seconds, g.measures[1].seconds, g.measures[mostMeasures/2].seconds})
}
