package world

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
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

// plainFast counts the fast models of a state by a look at each model and each shape.
func plainFast(i Info, v *ecm.View, stats *Stats) {
	_, obstacles, shapes := collisions(v)
	for e, value := range v.With(Velocity) {
		speed, _ := PairOf(value)
		way, half := speed.Scale(i.Step.Seconds()), math.Inf(1)
		for k := range shapes[e] {
			half = math.Min(half, shapes[e][k].half())
		}
		if way.Length() <= half {
			continue
		}
		var others []ecm.Entity
		for _, o := range obstacles {
			if passes(v, e, o.entity, shapes[e], o.shapes, way) {
				others = append(others, o.entity)
			}
		}
		for o := range v.With(Velocity) {
			if o != e && passes(v, e, o, shapes[e], shapes[o], way) {
				others = append(others, o)
			}
		}
		if len(others) == 0 {
			continue
		}
		if stats.Fast++; stats.FirstFast == nil {
			stats.FirstFast = &FirstFast{i.Iteration, nameOf(v, e), nameOf(v, others[0]), way.Length()}
		}
	}
}

// Whatever is written, and after a reset too, a look at what was written finds the models that a look at the whole state finds.
func TestFastModelsAreThoseOfTheWholeState(t *testing.T) {
	found := uint64(0)
	for seed := range uint64(8) {
		file := meddled(12)
		s, err := New(Config{World: file, Slots: []*Slot{{Name: "meddler", System: &meddler{rand.New(rand.NewPCG(seed, 5)), file}}, {Name: "physics", System: Physics{}}}})
		require.NoError(t, err)
		require.NoError(t, s.Configure())
		var plain Stats
		for n := range 200 {
			if n == 150 {
				for _, slot := range s.order {
					system := slot.System
					slot.Anew = func() (any, error) { return system, nil }
				}
				require.NoError(t, s.Reset())
			}
			require.NoError(t, s.Step())
			plainFast(s.info, s.store.ReadOnly(), &plain)
			require.Equal(t, plain.Fast, s.Stats.Fast, "seed %d, step %d", seed, n)
			require.Equal(t, plain.FirstFast, s.Stats.FirstFast)
		}
		found += plain.Fast
	}
	require.Greater(t, found, uint64(20))
}

// A scripted system does something in some steps.
type scripted map[uint64]func(v *ecm.View, of map[string]ecm.Entity)

func (s scripted) PreUpdate(i Info, v *ecm.View) error {
	of := map[string]ecm.Entity{}
	for e := range v.With(Pose) {
		of[nameOf(v, e)] = e
	}
	if s[i.Iteration] != nil {
		s[i.Iteration](v, of)
	}
	return nil
}

// A small model is fast where all others would not be: one that stood before, and one that a reset has brought back.
func TestASmallModelIsFast(t *testing.T) {
	throws := func(v *ecm.View, e ecm.Entity, speed float64) {
		v.Set(e, Velocity, PairBytes(spatial.Vector{X: speed}, spatial.Vector{}), ecm.OneTime)
	}
	ball := func(name string, x, radius float64) *sdf.Model {
		return thing(name, sphere(radius), spatial.Vector{X: x, Z: 1}, 1, 0, 0)
	}
	wall := fixed(thing("wall", box(0.1, 4, 4), spatial.Vector{X: 1}, 1, 1, 0))
	for name, c := range map[string]struct {
		small *sdf.Model
		again bool // after a reset
		do    scripted
	}{
		"stood before": {fixed(ball("small", 0.8, 0.1)), false, scripted{3: func(v *ecm.View, of map[string]ecm.Entity) {
			v.Unset(of["small"], Static)
			throws(v, of["small"], 30)
		}}},
		"is back": {ball("small", 0.8, 0.1), true, scripted{1: func(v *ecm.View, of map[string]ecm.Entity) { throws(v, of["small"], 30) },
			2: func(v *ecm.View, of map[string]ecm.Entity) {
				v.Remove(of["small"])
				throws(v, of["large"], 300)
			}, 3: func(v *ecm.View, of map[string]ecm.Entity) { throws(v, of["large"], 0) }}},
	} {
		w := worldOf(5*ms, wall, c.small, ball("large", -90, 0.5))
		slot := &Slot{Name: "script", System: c.do, Anew: func() (any, error) { return c.do, nil }}
		s, err := New(Config{World: w, Slots: []*Slot{slot}})
		require.NoError(t, err)
		require.NoError(t, s.Configure())
		for range 3 {
			require.NoError(t, s.Step())
		}
		if c.again {
			s.Stats = Stats{}
			require.NoError(t, s.Reset())
			require.NoError(t, s.Step())
		}
		require.NotNil(t, s.Stats.FirstFast, name)
		assert.Equal(t, FirstFast{map[bool]uint64{false: 3, true: 1}[c.again], "small", "wall", 0.15}, *s.Stats.FirstFast, name)
	}
}
