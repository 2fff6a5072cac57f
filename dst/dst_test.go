package dst

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What clients see is the plain computation, whatever the order in which things happen between them and the dispatcher: 5,000 runs. The mistakes that are
// planted in internal/mutants are all found in the first 1,000.
func TestRuns(t *testing.T) {
	scenarios := uint64(5_000 / Schedules)
	if testing.Short() {
		scenarios /= 5
	}
	const parts = 4
	for part := range uint64(parts) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			var total Result
			for k := range scenarios / parts {
				seed := 1 + part*scenarios/parts + k
				r, err := Run(seed)
				require.NoError(t, err, "go run ./cmd/metasim-dst -seed %d", seed)
				total.Handled += r.Handled
				total.Lost += r.Lost
				total.Failed += r.Failed
				total.Driven += r.Driven
				total.Restarted += r.Restarted
				total.Crashes += r.Crashes
				total.Returned += r.Returned
			}
			runs := int(scenarios) / parts
			require.Greater(t, total.Handled, 10*runs, "the scenarios are too quiet to show anything")
			require.Greater(t, total.Driven, runs, "too few runs are driven")
			require.Greater(t, total.Restarted, runs/10, "too few clients are started again")
			require.Greater(t, total.Crashes, runs/4, "too few servers crash")
			require.Greater(t, total.Returned, runs, "too few clients outlive their server")
			require.Greater(t, total.Lost, runs/40, "too few connections end")
			require.Greater(t, total.Failed, runs/100, "too few runs end with a lost client")
			require.Greater(t, total.Lost-total.Failed, runs/100, "too few runs go on without a lost client")
		})
	}
}

// A seed gives the same run each time.
func TestRepeats(t *testing.T) {
	for seed := range uint64(50) {
		first, err := Run(seed + 1)
		require.NoError(t, err)
		second, err := Run(seed + 1)
		require.NoError(t, err)
		require.Equal(t, first, second)
	}
}
