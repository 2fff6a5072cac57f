package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A prediction of the run as it was is the run as it was, where frames take no time; but for who comes first of two who are
// done at the same time, which may decide how far a third is authorized.
func TestNothingChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, false)
		w.flight = 0
		for _, a := range w.actors {
			a.merges = false // what it did at which instant is not known
		}
		tl, err := Read(record(t, w))
		require.NoError(t, err)
		p, err := tl.Predict()
		require.NoError(t, err)
		require.InDelta(t, seconds(tl.Wall()), p.WallS, 20e-6)
	})
}
