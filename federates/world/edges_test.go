package world

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

func turnedBox(m *sdf.Model, roll, pitch, yaw float64) *sdf.Model {
	m.Pose.Rotation = spatial.FromEuler(roll, pitch, yaw)
	return m
}

// solid gives a box of one kilogram the inertia that it has.
func solid(m *sdf.Model, x, y, z float64) *sdf.Model {
	i := &m.Links[0].Inertial
	i.IXX, i.IYY, i.IZZ = (y*y+z*z)/12, (x*x+z*z)/12, (x*x+y*y)/12
	return m
}

// Boxes carry one another where no corner of one is on the other: crossed planks, a plank that juts out, cubes that are turned against each other.
func TestEdgesOfBoxesCarry(t *testing.T) {
	plank := func(name string, long bool, at spatial.Vector) *sdf.Model {
		x, y := 0.4, 4.0
		if long {
			x, y = y, x
		}
		return solid(thing(name, box(x, y, 0.4), at, 1, 0, 1), x, y, 0.4)
	}
	cube := func(name string, z, yaw float64) *sdf.Model {
		return turnedBox(solid(thing(name, box(1, 1, 1), spatial.Vector{Z: z}, 1, 0, 1), 1, 1, 1), 0, 0, yaw)
	}
	for name, models := range map[string][]*sdf.Model{
		"crossed planks":          {plank("low", true, spatial.Vector{Z: 0.2}), plank("top", false, spatial.Vector{Z: 0.6})},
		"a plank on a fixed one":  {fixed(plank("low", true, spatial.Vector{Z: 0.2})), plank("top", false, spatial.Vector{X: 0.3, Z: 0.6})},
		"a plank that juts out":   {fixed(plank("low", true, spatial.Vector{Z: 0.2})), plank("top", false, spatial.Vector{X: 1.9, Y: 0.1, Z: 0.6})},
		"cubes, a little turned":  {cube("low", 0.5, 0), cube("top", 1.5, 0.1)},
		"cubes, turned by a half": {cube("low", 0.5, 0), cube("top", 1.5, 0.785)},
	} {
		s := serve(t, worldOf(5*ms, append(models, ground(0, 1, 1))...))
		before, _, _ := state(t, s, "top")
		for range 600 {
			require.NoError(t, s.Step())
		}
		after, v, spin := state(t, s, "top")
		assert.InDelta(t, 0, after.Position.Sub(before.Position).Length(), 0.003, name)
		assert.InDelta(t, 0, v.Length()+spin.Length(), 0.01, name)
	}
}

// An edge that falls on an edge across it bounces, and comes up to where it fell from.
func TestAnEdgeBouncesOffAnEdge(t *testing.T) {
	const half = 0.7071067811865476 // of the diagonal of a face
	low := fixed(turnedBox(thing("low", box(1, 1, 1), spatial.Vector{}, 1, 1, 0), 0.7853981633974483, 0, 0))
	high := turnedBox(solid(thing("high", box(1, 1, 1), spatial.Vector{Z: 2*half + 0.5}, 1, 1, 0), 1, 1, 1), 0, 0.7853981633974483, 0)
	s := serve(t, worldOf(ms, low, high))
	least, highest := 9.0, 0.0
	for n := range 640 { // it falls and rises for 0.319 s each
		require.NoError(t, s.Step())
		p, _, _ := state(t, s, "high")
		least = min(least, p.Position.Z)
		if n > 400 {
			highest = max(highest, p.Position.Z)
		}
	}
	assert.InDelta(t, 2*half, least, 0.005)
	assert.InDelta(t, 2*half+0.5, highest, 0.01)
}

// A box does not fall through a grate whose bars its corners miss, however it falls, and its energy never grows by much.
func TestABoxDoesNotFallThroughAGrate(t *testing.T) {
	const g = 9.8
	rapid.Check(t, func(t2 *rapid.T) {
		number := func(name string, from, to float64) float64 { return rapid.Float64Range(from, to).Draw(t2, name) }
		x, y, z := number("x", 0.6, 1), number("y", 0.6, 1), number("z", 0.6, 1)
		m := solid(thing("box", box(x, y, z), spatial.Vector{Z: 1.2}, 1, number("restitution", 0, 1), number("friction", 0, 1)), x, y, z)
		turnedBox(m, number("roll", -3, 3), number("pitch", -3, 3), number("yaw", -3, 3))
		models := []*sdf.Model{m}
		for i := range 9 {
			models = append(models, fixed(thing(string(rune('a'+i)), box(0.1, 8, 0.3), spatial.Vector{X: 0.3*float64(i) - 1.2, Z: -0.15}, 1, number("bar", 0, 1), 1)))
		}
		s, err := New(Config{World: worldOf(5*ms, models...), Slots: []*Slot{{Name: "physics", System: Physics{}, Plugin: &sdf.Plugin{}}}})
		require.NoError(t2, err)
		require.NoError(t2, s.Configure())
		i := m.Links[0].Inertial
		for n := range 120 {
			require.NoError(t2, s.Step())
			p, v, w := state(t, s, "box")
			if p.Position.Z < min(x, y, z)/2-0.05 && p.Position.Length() < 1 {
				t2.Fatalf("step %d: the box is at %v", n+1, p.Position)
			}
			moments := turned(symmetric{i.IXX, 0, 0, i.IYY, 0, i.IZZ}, p.Rotation)
			// Where nothing is lost in a bounce, steps of 5 ms gain up to a hundredth of the energy.
			if energy := v.Dot(v)/2 + times(moments, w).Dot(w)/2 + g*p.Position.Z; energy > 1.2*g*1.02 {
				t2.Fatalf("step %d: the energy is %v J", n+1, energy)
			}
		}
	})
}
