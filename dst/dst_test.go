package dst

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run holds little and throws it away: see cmd/metasim-dst.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

// What clients see is the plain computation, whatever the order in which things happen between them and the dispatcher: 20,000 runs. The mistakes that are
// planted in internal/mutants are all found in the first 1,000.
func TestRuns(t *testing.T) {
	scenarios := uint64(20_000 / Schedules)
	if testing.Short() {
		scenarios /= 20
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
				total.Add(&r)
			}
			runs := int(scenarios) / parts
			require.Greater(t, total[countHandled], 10*runs, "the scenarios are too quiet to show anything")
			require.Greater(t, total[countDriven], runs, "too few runs are driven")
			require.Greater(t, total[countRestarted], runs/10, "too few clients are started again")
			require.Greater(t, total[countBegun], runs/10, "too few clients begin at a checkpoint")
			require.Greater(t, total[countCrashes], runs/4, "too few servers crash")
			require.Greater(t, total[countReturned], runs, "too few clients outlive their server")
			require.Greater(t, total[countTorn], runs/40, "too few journals are torn")
			require.Greater(t, total[countShort], runs/10, "too few clients wait for memory")
			require.Greater(t, total[countAlone], runs/100, "too few clients die alone on a connection of several")
			require.Greater(t, total[countShared], runs/10, "too few clients come back over a connection of several")
			require.Greater(t, total[countNestedAgain], runs/10, "too few clients die in nested runs")
			require.Equal(t, runs, total[countNested], "each scenario is also run as two, of which one is nested in the other")
			require.Greater(t, total[countCrossed], 10*runs, "too little goes from one of them to the other")
			require.Greater(t, total[countSlow], runs, "too few connections are slow")
			require.Greater(t, total[countLeft], runs/10, "too few clients leave early")
			require.Greater(t, total[countLost], runs/40, "too few connections end")
			require.Greater(t, total[countFailed], runs/100, "too few runs end with a lost client")
			require.Greater(t, total[countLost]-total[countFailed], runs/100, "too few runs go on without a lost client")
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
