package world

import (
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// A crowd is spheres that fly at one another, without weight.
func crowd(t *rapid.T) []*body {
	var all []*body
	for range rapid.IntRange(2, 8).Draw(t, "bodies") {
		number := func(from, to float64, name string) float64 { return rapid.Float64Range(from, to).Draw(t, name) }
		vector := func(size float64, name string) spatial.Vector {
			return spatial.Vector{X: number(-size, size, name), Y: number(-size, size, name), Z: number(-size, size, name)}
		}
		mass, radius := number(0.1, 10, "mass"), number(0.05, 0.4, "radius")
		moment := 0.4 * mass * radius * radius
		b := &body{pose: spatial.Pose{Position: vector(1, "position"), Rotation: spatial.None}, v: vector(5, "velocity"), w: vector(3, "rotation"),
			mass: Mass{Mass: mass, IXX: moment, IYY: moment, IZZ: moment}}
		b.shapes = []shape{{Geometry: Geometry{Kind: Sphere, Radius: radius}, pose: spatial.Identity, restitution: number(0, 1, "restitution"), friction: number(0, 1, "friction")}}
		b.centre = b.pose.Position
		clear := true
		for _, other := range all {
			clear = clear && other.centre.Sub(b.centre).Length() > radius+other.shapes[0].Radius
		}
		if clear {
			all = append(all, b)
		}
	}
	return all
}

func (b *body) turned() *body {
	b.inertia = turned(b.mass.moments(), b.pose.Rotation)
	b.invInertia, _ = inverse(b.inertia) // each body of these tests has one
	return b
}

func mechanics(all []*body) (momentum spatial.Vector, energy float64) {
	for _, b := range all {
		momentum = momentum.Add(b.v.Scale(b.mass.Mass))
		energy += b.mass.Mass*b.v.Dot(b.v)/2 + times(turned(b.mass.moments(), b.pose.Rotation), b.w).Dot(b.w)/2
	}
	return momentum, energy
}

// Whatever flies at whatever: momentum stays, energy never grows, and nobody ends up inside another.
func TestBodiesThatMeetKeepTheirMomentum(t *testing.T) {
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		all := crowd(t)
		momentum, energy := mechanics(all)
		for range 100 {
			for _, b := range all {
				b.turned()
			}
			before := all[0].v
			advance(all, nil, nil, 0.005)
			if all[0].v != before {
				met++
			}
			now, left := mechanics(all)
			if now.Sub(momentum).Length() > 1e-9 {
				t.Fatalf("momentum was %v, and is %v", momentum, now)
			}
			if left > energy*(1+1e-9) {
				t.Fatalf("energy was %v, and is %v", energy, left)
			}
			energy = left
		}
	})
	assert.Positive(t, met, "some met")
}

// A world and its mirror image stay mirror images, to the last bit.
func TestTheMirrorImageOfAWorld(t *testing.T) {
	mirror := func(v spatial.Vector) spatial.Vector { return spatial.Vector{X: v.X, Y: -v.Y, Z: v.Z} }
	rapid.Check(t, func(t *rapid.T) {
		all := crowd(t)
		var image []*body
		for _, b := range all {
			c := *b
			c.pose.Position, c.centre, c.v, c.w = mirror(b.centre), mirror(b.centre), mirror(b.v), mirror(b.w).Scale(-1)
			image = append(image, &c)
		}
		floor := []plane{{point: spatial.Vector{Z: -0.7}, normal: spatial.Vector{Z: 1}, restitution: 0.7, friction: 0.5}}
		for range 100 {
			for i := range all {
				all[i].turned().a, image[i].turned().a = spatial.Vector{Z: -9.8}, spatial.Vector{Z: -9.8}
			}
			advance(all, nil, floor, 0.005)
			advance(image, nil, floor, 0.005)
			for i := range all {
				if image[i].centre != mirror(all[i].centre) || image[i].v != mirror(all[i].v) || image[i].w != mirror(all[i].w).Scale(-1) {
					t.Fatalf("body %d is at %v, and its image at %v", i, all[i].centre, image[i].centre)
				}
			}
		}
	})
}

// What bodies do does not depend on others that they cannot meet: the sum of two worlds far apart is the two worlds.
func TestBodiesFarApartAreAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		here, there := crowd(t), crowd(t)
		for _, list := range [][]*body{here, there} {
			if len(list) > 0 && rapid.Bool().Draw(t, "box") {
				s := &list[0].shapes[0]
				s.Kind, s.Size = Box, spatial.Vector{X: s.Radius, Y: s.Radius, Z: 2 * s.Radius} // the moments stay those of the ball
			}
		}
		floor := []plane{{point: spatial.Vector{Z: -0.9}, normal: spatial.Vector{Z: 1}, restitution: 0.6, friction: 0.5}}
		var both []*body
		for _, b := range there {
			b.pose.Position.X += 1000
			b.centre.X += 1000
		}
		for i := range max(len(here), len(there)) { // in turn, so that their numbers differ
			for _, list := range [][]*body{there, here} {
				if i < len(list) {
					c := *list[i]
					both = append(both, &c)
				}
			}
		}
		for range 60 {
			for _, list := range [][]*body{here, there, both} {
				for _, b := range list {
					b.turned().a = spatial.Vector{Z: -9.8}
				}
				advance(list, nil, floor, 0.005)
			}
		}
		n := 0
		for i := range max(len(here), len(there)) {
			for _, list := range [][]*body{there, here} {
				if i < len(list) {
					b, alone := both[n], list[i]
					if b.centre != alone.centre || b.v != alone.v || b.w != alone.w || b.pose != alone.pose {
						t.Fatalf("body %d is at %v, and alone it is at %v", i, both[n].centre, list[i].centre)
					}
					n++
				}
			}
		}
	})
}

func box(x, y, z float64) sdf.Geometry {
	return sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: x, Y: y, Z: z}}
}

// Two equal balls exchange their velocities; one that hits a ball at rest in its middle stops.
func TestEqualBallsExchangeTheirVelocities(t *testing.T) {
	w := worldOf(5*ms, thing("a", sphere(0.2), spatial.Vector{X: -1}, 1, 1, 0), thing("b", sphere(0.2), spatial.Vector{X: 1}, 1, 1, 0))
	w.Gravity = spatial.Vector{}
	s := serve(t, w)
	push(t, s, "a", spatial.Vector{X: 3})
	for range 400 {
		require.NoError(t, s.Step())
	}
	pa, va, _ := state(t, s, "a")
	pb, vb, _ := state(t, s, "b")
	assert.InDelta(t, 0, va.Length(), 1e-12)
	assert.InDelta(t, 3, vb.X, 1e-12)
	assert.InDelta(t, 0.6, pa.Position.X, 3*0.005, "where it touched b")
	assert.InDelta(t, 2*3-1.6+1, pb.Position.X, 2*3*0.005)
}

// What lies at rest stays at rest: a ball on a box, a box on a box, all on the ground, on static boxes too.
func TestWhatLiesStaysAtRest(t *testing.T) {
	table := thing("table", box(4, 4, 1), spatial.Vector{Z: 0.5}, 1, 0, 1)
	table.Static = true
	for name, w := range map[string]*sdf.World{
		"a tower on the ground": worldOf(5*ms, ground(0, 1, 1), thing("low", box(2, 2, 1), spatial.Vector{Z: 0.5}, 1, 0.5, 1),
			thing("high", box(1, 1, 1), spatial.Vector{Z: 1.5}, 1, 0.5, 1), thing("top", sphere(0.3), spatial.Vector{Z: 2.3}, 1, 0.5, 1)),
		"a tower on a table": worldOf(5*ms, table, thing("high", box(1, 1, 1), spatial.Vector{Z: 1.5}, 1, 0.5, 1), thing("top", sphere(0.3), spatial.Vector{Z: 2.3}, 1, 0.5, 1)),
		"two balls side by side": worldOf(5*ms, ground(0, 1, 1), thing("high", sphere(0.5), spatial.Vector{Z: 0.5}, 1, 1, 1),
			thing("top", sphere(0.5), spatial.Vector{X: 1, Z: 0.5}, 1, 1, 1)),
	} {
		s := serve(t, w)
		before, _, _ := state(t, s, "top")
		for range 1000 {
			require.NoError(t, s.Step())
		}
		after, v, spin := state(t, s, "top")
		assert.InDelta(t, 0, after.Position.Sub(before.Position).Length(), 0.001, name)
		assert.InDelta(t, 0, v.Length()+spin.Length(), 0.005, name)
	}
}

// A box that slides stops where friction has taken its energy: after v^2 / (2 mu g).
func TestFrictionStopsABox(t *testing.T) {
	for _, mu := range []float64{0.2, 0.7} {
		for _, on := range []*sdf.Model{ground(0, 1, 1), fixed(thing("floor", box(50, 50, 1), spatial.Vector{Z: -0.5}, 1, 0, 1))} {
			s := serve(t, worldOf(ms, on, thing("box", box(1, 1, 0.2), spatial.Vector{Z: 0.1}, 1, 0, mu)))
			push(t, s, "box", spatial.Vector{X: 2})
			for range 1500 {
				require.NoError(t, s.Step())
			}
			p, v, _ := state(t, s, "box")
			assert.InDelta(t, 0, v.Length(), 1e-9)
			assert.InDelta(t, 4/(2*mu*9.8), p.Position.X, 0.01, "friction %v", mu)
			assert.InDelta(t, 0.1, p.Position.Z, 1e-3)
		}
	}
}

func fixed(m *sdf.Model) *sdf.Model {
	m.Static = true
	return m
}

// A box has never more energy than it began with, however it falls. The energy of a semi-implicit step is that of the
// velocity in the middle of it. The steps of the rotation are wrong by some millijoules.
func TestTheEnergyOfABoxNeverGrows(t *testing.T) {
	const g, step = 9.8, 5 * ms
	dt := step.Seconds()
	rapid.Check(t, func(t2 *rapid.T) {
		angle := func(name string) float64 { return rapid.Float64Range(-3, 3).Draw(t2, name) }
		size := func(name string) float64 { return rapid.Float64Range(0.2, 1).Draw(t2, name) }
		x, y, z := size("x"), size("y"), size("z")
		m := thing("box", box(x, y, z), spatial.Vector{Z: 1.5}, 1, rapid.Float64Range(0, 1).Draw(t2, "restitution"), rapid.Float64Range(0, 1).Draw(t2, "friction"))
		i := &m.Links[0].Inertial
		i.IXX, i.IYY, i.IZZ = (y*y+z*z)/12, (x*x+z*z)/12, (x*x+y*y)/12
		m.Pose.Rotation = spatial.FromEuler(angle("roll"), angle("pitch"), angle("yaw"))
		s, err := New(Config{World: worldOf(step, ground(0, 1, 1), m), Slots: []*Slot{{Name: "physics", System: Physics{}, Plugin: &sdf.Plugin{}}}})
		require.NoError(t2, err)
		require.NoError(t2, s.Configure())
		start, last := 14.7+0.05, math.Inf(1) // J: 1 kg at 1.5 m
		for n := range 250 {
			require.NoError(t2, s.Step())
			p, v, w := state(t, s, "box")
			moments := turned(symmetric{i.IXX, 0, 0, i.IYY, 0, i.IZZ}, p.Rotation)
			energy := v.Dot(v)/2 + times(moments, w).Dot(w)/2 + g*p.Position.Z - g*dt*v.Z/2
			if energy > start || energy > last+0.02 {
				t2.Fatalf("step %d: the energy was %v J, and is %v J", n+1, last, energy)
			}
			last = energy
		}
	})
}

// What has no number is refused, and the state stays.
func TestAWorldThatFliesApartIsRefused(t *testing.T) {
	s := serve(t, worldOf(ms, thing("a", sphere(0.2), spatial.Vector{X: math.MaxFloat64 / 2}, 1, 1, 0)))
	push(t, s, "a", spatial.Vector{X: math.MaxFloat64})
	var err error
	before := s.Hash()
	for n := 0; err == nil && n < 3000; n++ {
		before = s.Hash()
		err = s.Step()
	}
	assert.ErrorContains(t, err, "system physics, in Update of iteration ")
	assert.ErrorContains(t, err, fmt.Sprintf("it sets pose of entity 2: number 1 is %v", math.Inf(1)))
	assert.Equal(t, before, s.Hash())
}

// The states of a world with everything in it, on every processor: a change of this hash is a change of all results.
func TestTheStatesOfPhysics(t *testing.T) {
	spinning := thing("spinning", box(1, 0.5, 0.3), spatial.Vector{X: 2.2, Z: 3}, 1, 0.6, 0.4)
	spinning.Links[0].Inertial = sdf.Inertial{Mass: 2, Pose: spatial.Identity, IXX: 0.06, IYY: 0.2, IZZ: 0.21}
	spinning.Pose.Rotation = spatial.FromEuler(0.3, 0.4, 0.5)
	s := serve(t, worldOf(5*ms, ground(0.02, 0.9, 0.8), fixed(thing("table", box(2, 2, 1), spatial.Vector{X: 2, Z: 0.5}, 1, 0.5, 1)), spinning,
		thing("a", sphere(0.3), spatial.Vector{X: 0.1, Z: 2}, 0.036, 0.8, 0.5), thing("b", sphere(0.2), spatial.Vector{Z: 1}, 0.016, 1, 0.5),
		thing("crate", box(0.6, 0.6, 0.6), spatial.Vector{X: -0.3, Z: 4}, 0.06, 0.2, 0.7)))
	for range 600 {
		require.NoError(t, s.Step())
	}
	hash := s.Hash()
	assert.Equal(t, "f74ac44ed5de1cb22be274cfb0cbf52180b98db1576aa84deb0e4b3715f4687d", hex.EncodeToString(hash[:]))
}
