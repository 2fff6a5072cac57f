package trace

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A quantile is that of the sorted list, or at most a thirty-second more.
func TestStepTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(1, 1<<rapid.IntRange(0, 61).Draw(t, "bits")), 1, 200).Draw(t, "times")
		var s stepTimes
		s.end() // of no work
		for _, took := range all {
			s.sum = took
			s.end()
		}
		slices.Sort(all)
		require.EqualValues(t, len(all), s.count)
		for _, share := range []float64{0.5, 0.99, 1} {
			i := 0
			for float64(i+1) < share*float64(len(all)) {
				i++
			}
			got := s.quantile(share)
			require.GreaterOrEqual(t, got, all[i])
			require.LessOrEqual(t, got, all[i]+all[i]/32)
		}
	})
	require.Zero(t, (&stepTimes{}).quantile(0.5))
}
