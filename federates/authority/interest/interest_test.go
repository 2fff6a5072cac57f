package interest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A grid tells what one finds who measures every distance.
func TestGridIsLikeItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Side: rapid.Int64Range(1, 1000).Draw(t, "side"), Cell: rapid.Int64Range(1, 300).Draw(t, "cell"),
			Rings: []Ring{{rapid.Int64Range(1, 100).Draw(t, "near"), 1}, {rapid.Int64Range(101, 2000).Draw(t, "far"), rapid.Uint64Range(1, 9).Draw(t, "every")}},
		}
		g, err := New(cfg)
		require.NoError(t, err)
		twin := map[int][2]int64{}
		for step := range uint64(rapid.IntRange(1, 40).Draw(t, "steps")) {
			entity := rapid.IntRange(0, 9).Draw(t, "entity")
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				g.Remove(entity)
				delete(twin, entity)
			} else {
				at := [2]int64{rapid.Int64Range(-50, 1050).Draw(t, "x"), rapid.Int64Range(-50, 1050).Draw(t, "y")}
				g.Put(entity, at[0], at[1])
				twin[entity] = at
			}
			x, y := rapid.Int64Range(0, 1000).Draw(t, "ox"), rapid.Int64Range(0, 1000).Draw(t, "oy")
			var want []int
			for e, at := range twin {
				d := (at[0]-x)*(at[0]-x) + (at[1]-y)*(at[1]-y)
				every := uint64(0)
				for _, r := range slices.Backward(cfg.Rings) {
					if d <= r.Within*r.Within {
						every = r.Every
					}
				}
				if every > 0 && (step+uint64(e))%every == 0 {
					want = append(want, e)
				}
			}
			got := g.Due(nil, step, x, y)
			slices.Sort(got)
			slices.Sort(want)
			require.Equal(t, want, got)
		}
	})
}

// What makes no sense is named.
func TestConfigIsChecked(t *testing.T) {
	ring := []Ring{{10, 1}}
	for want, cfg := range map[string]Config{
		"Side is 0":        {Cell: 1, Rings: ring},
		"Cell is 0":        {Side: 10, Rings: ring},
		"Cell is 1":        {Side: 1 << 40, Cell: 1, Rings: ring},
		"Rings is empty":   {Side: 10, Cell: 1},
		"Rings[0] is not":  {Side: 10, Cell: 1, Rings: []Ring{{0, 1}}},
		"Rings[1] is not":  {Side: 10, Cell: 1, Rings: []Ring{{10, 1}, {10, 1}}},
		"or has no period": {Side: 10, Cell: 1, Rings: []Ring{{10, 0}}},
	} {
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
	}
}
