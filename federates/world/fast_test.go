package world

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// A model that is so fast that it passes through another, or is turned aside by one that it only comes near to, is named. What is slow enough is not, nor what
// is far from all others, nor what falls on a plane.
func TestFastModelsAreNamed(t *testing.T) {
	wall := func(y float64) *sdf.Model {
		return fixed(thing("wall", box(0.1, 4, 4), spatial.Vector{X: 3.03, Y: y}, 1, 1, 0))
	}
	ball := func(name string, x float64) *sdf.Model {
		return thing(name, sphere(0.1), spatial.Vector{X: x, Z: 1}, 1, 0, 0)
	}
	for name, c := range map[string]struct {
		speed  float64
		models []*sdf.Model
		first  *FirstFast // nil: nobody is named
	}{
		"slow":           {19, []*sdf.Model{wall(0), ball("a", 0.01)}, nil},
		"alone":          {1000, []*sdf.Model{ball("a", 0.01), ball("b", -3)}, nil},
		"by":             {1000, []*sdf.Model{wall(9), ball("a", 0.01)}, nil},
		"on the ground":  {1000, []*sdf.Model{ground(0, 1, 1), ball("a", 0.01)}, nil},
		"through a wall": {1000, []*sdf.Model{wall(0), ball("b", 2), ball("a", 0.01)}, &FirstFast{Model: "b", Other: "wall"}}, // b was at rest when the step began
		"near a wall":    {500, []*sdf.Model{wall(2.05), ball("a", 0.01)}, &FirstFast{Model: "a", Other: "wall"}},
	} {
		w := worldOf(5*ms, c.models...)
		s := serve(t, w)
		push(t, s, "a", spatial.Vector{X: c.speed})
		for range 30 {
			require.NoError(t, s.Step())
		}
		if c.first == nil {
			assert.Zero(t, s.Stats.Fast, name)
			assert.Nil(t, s.Stats.FirstFast, name)
			continue
		}
		require.NotZero(t, s.Stats.Fast, name)
		assert.Equal(t, c.first.Model, s.Stats.FirstFast.Model, name)
		assert.Equal(t, c.first.Other, s.Stats.FirstFast.Other, name)
		assert.Greater(t, s.Stats.FirstFast.Way, 0.1, name)
	}
}
