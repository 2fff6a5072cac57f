package replay_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/run"
	"metasim/scenarios"
)

// TestShipped replays every scenario that ships, as a whole and client by client.
func TestShipped(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/*.metasim.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	const enough = 8 // clients of one scenario
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sc, _, err := scenarios.Load(file, scenarios.Overrides{})
			require.NoError(t, err)
			if sc.Name == "cart-pole" {
				sc.Until = 3 * metasim.Second // of twenty, which show no more
			}
			out := carryOut(t, sc, "mem")
			require.NoError(t, out.Err)
			a := audit(t, out.RunDir)
			require.Nil(t, a.Difference)
			require.NoError(t, a.Torn)
			require.Equal(t, out.Digests, a.Digests, "of what was delivered, of what was sent and of the results")
			for i, c := range out.Clients {
				if i%max(1, len(out.Clients)/enough) != 0 {
					continue
				}
				got := alone(t, out.RunDir, c.Name, run.ReplayOptions{})
				require.Nil(t, got.Difference)
				require.Equal(t, c.Sent, got.Sent, c.Name)
				require.GreaterOrEqual(t, got.Delivered, c.Delivered, c.Name)
				require.Equal(t, "it left", got.End)
			}
		})
	}
}
