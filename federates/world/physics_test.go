package world

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/metasim"
)

const ms = metasim.Millisecond

// ground is a static plane; bodies stand above it.
func ground(tilt, restitution, friction float64) *sdf.Model {
	normal := spatial.Vector{X: math.Sin(tilt), Z: math.Cos(tilt)}
	return &sdf.Model{Name: "ground", Static: true, Pose: spatial.Identity, Links: []*sdf.Link{{Name: "link", Pose: spatial.Identity,
		Collisions: []*sdf.Collision{{Name: "c", Pose: spatial.Identity, Geometry: sdf.Geometry{Shape: sdf.Plane, Normal: normal},
			Surface: sdf.Surface{Restitution: restitution, Friction: friction}}}}}}
}

// thing is a body of 1 kg with one shape.
func thing(name string, g sdf.Geometry, at spatial.Vector, moment, restitution, friction float64) *sdf.Model {
	return &sdf.Model{Name: name, Pose: spatial.Pose{Position: at, Rotation: spatial.None}, Links: []*sdf.Link{{Name: "link", Pose: spatial.Identity,
		Inertial:   sdf.Inertial{Mass: 1, Pose: spatial.Identity, IXX: moment, IYY: moment, IZZ: moment},
		Collisions: []*sdf.Collision{{Name: "c", Pose: spatial.Identity, Geometry: g, Surface: sdf.Surface{Restitution: restitution, Friction: friction}}}}}}
}

func sphere(radius float64) sdf.Geometry { return sdf.Geometry{Shape: sdf.Sphere, Radius: radius} }

func worldOf(step metasim.Time, models ...*sdf.Model) *sdf.World {
	return &sdf.World{Name: "w", Gravity: spatial.Vector{Z: -9.8}, Physics: sdf.Physics{Step: step}, Models: models}
}

func serve(t *testing.T, w *sdf.World, slots ...*Slot) *Server {
	t.Helper()
	s, err := New(Config{World: w, Slots: append(slots, &Slot{Name: "physics", System: Physics{}, Priority: -64, Plugin: &sdf.Plugin{}})})
	require.NoError(t, err)
	require.NoError(t, s.Configure())
	return s
}

// state returns pose, velocity and rotation of a model.
func state(t *testing.T, s *Server, name string) (spatial.Pose, spatial.Vector, spatial.Vector) {
	t.Helper()
	v := s.store.ReadOnly()
	for e, value := range v.With(Name) {
		if string(value) == name {
			pose, _ := v.Get(e, Pose)
			velocity, _ := v.Get(e, Velocity)
			linear, angular := PairOf(velocity)
			return PoseOf(pose), linear, angular
		}
	}
	t.Fatalf("no %s", name)
	return spatial.Pose{}, spatial.Vector{}, spatial.Vector{}
}

// A ball that loses nothing comes up again to where it fell from, for ever; one that loses comes up to e^2 of it.
func TestABallComesUpToWhereItFellFrom(t *testing.T) {
	for _, c := range []struct {
		restitution float64
		step        metasim.Time
	}{{1, 5 * ms}, {1, 20 * ms}, {1, ms}, {0.8, 5 * ms}} {
		s := serve(t, worldOf(c.step, ground(0, 1, 1), thing("ball", sphere(0.2), spatial.Vector{Z: 1.2}, 1, c.restitution, 1)))
		tops, rising, highest := []float64{}, false, 0.0
		for range int(20 * metasim.Second / c.step) {
			require.NoError(t, s.Step())
			p, v, _ := state(t, s, "ball")
			require.GreaterOrEqual(t, p.Position.Z, 0.2-1e-12)
			switch {
			case v.Z > 0:
				rising, highest = true, max(highest, p.Position.Z)
			case rising:
				tops, rising, highest = append(tops, max(highest, p.Position.Z)-0.2), false, 0
			}
		}
		g, dt := 9.8, c.step.Seconds()
		want := 1.0
		for i, top := range tops {
			want *= c.restitution * c.restitution
			if want < 0.05 {
				break
			}
			assert.InDelta(t, want, top, g*dt*dt/8+1e-9, "top %d at steps of %v", i, c.step)
		}
		assert.Greater(t, len(tops), 10)
	}
}

func TestSlidingAndRolling(t *testing.T) {
	tilt := 20 * math.Pi / 180
	g := 9.8
	for _, c := range []struct {
		name      string
		geometry  sdf.Geometry
		moment    float64
		friction  float64
		want      float64 // acceleration along the slope
		tolerance float64
	}{
		{"a ball slides where nothing holds it", sphere(0.2), 0.016, 0, g * math.Sin(tilt), 1e-6},
		{"a full ball rolls", sphere(0.2), 0.4 * 0.04, 1, g * math.Sin(tilt) * 5 / 7, 0.01},
		{"a box slides against friction", sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 1, Y: 1, Z: 0.2}}, 1, 0.2, g * (math.Sin(tilt) - 0.2*math.Cos(tilt)), 0.05},
		{"a box stays where friction holds it", sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 1, Y: 1, Z: 0.2}}, 1, 0.9, 0, 0.02},
	} {
		m := thing("m", c.geometry, spatial.Vector{}, c.moment, 0, c.friction)
		height := c.geometry.Radius + c.geometry.Size.Z/2
		m.Pose = spatial.Pose{Position: spatial.Vector{X: math.Sin(tilt) * height, Z: math.Cos(tilt) * height}, Rotation: spatial.FromEuler(0, tilt, 0)}
		s := serve(t, worldOf(ms, ground(tilt, 0, 1), m))
		for range 1000 {
			require.NoError(t, s.Step())
		}
		_, v, _ := state(t, s, "m")
		assert.InDelta(t, c.want, v.Dot(spatial.Vector{X: math.Cos(tilt), Z: -math.Sin(tilt)}), c.tolerance, c.name)
	}
}

// A box that falls on a corner comes to lie on a face, and does not sink in.
func TestABoxComesToLie(t *testing.T) {
	m := thing("box", sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 1, Y: 0.6, Z: 0.4}}, spatial.Vector{Z: 2}, 0.1, 0.3, 0.6)
	m.Pose.Rotation = spatial.FromEuler(0.5, 0.4, 0.3)
	s := serve(t, worldOf(2*ms, ground(0, 1, 1), m))
	for range 5000 {
		require.NoError(t, s.Step())
	}
	p, v, w := state(t, s, "box")
	assert.InDelta(t, 0, v.Length(), 0.02)
	assert.InDelta(t, 0, w.Length(), 0.02)
	lowest := math.Min(math.Min(math.Abs(p.Position.Z-0.5), math.Abs(p.Position.Z-0.3)), math.Abs(p.Position.Z-0.2))
	assert.InDelta(t, 0, lowest, 0.005, "it lies at a height of %v", p.Position.Z)
}

// A body that nothing touches keeps its angular momentum.
func TestAFreeBodyKeepsItsAngularMomentum(t *testing.T) {
	m := thing("m", sdf.Geometry{Shape: sdf.Other}, spatial.Vector{}, 1, 0, 0)
	m.Links[0].Inertial = sdf.Inertial{Mass: 2, Pose: spatial.Pose{Position: spatial.Vector{X: 0.1}, Rotation: spatial.None}, IXX: 1, IYY: 2, IZZ: 2.5}
	w := worldOf(ms, m)
	w.Gravity = spatial.Vector{}
	s := serve(t, w)
	set := s.store.View(0)
	for e := range set.With(Velocity) {
		set.Set(e, Velocity, PairBytes(spatial.Vector{}, spatial.Vector{X: 0.1, Y: 2, Z: 0.1}), ecm.OneTime)
	}
	_, err := s.store.Merge([]ecm.Writer{{Written: ecm.Written{By: "test", Changes: set.Changes()}}})
	require.NoError(t, err)
	momentum := func() spatial.Vector {
		p, _, w := state(t, s, "m")
		return times(turned(symmetric{1, 0, 0, 2, 0, 2.5}, p.Rotation), w)
	}
	want := momentum()
	for range 5000 {
		require.NoError(t, s.Step())
	}
	assert.InDelta(t, 0, momentum().Sub(want).Length(), 1e-9)
	p, v, _ := state(t, s, "m")
	assert.InDelta(t, 0, v.Length(), 1e-12)
	assert.InDelta(t, 0, p.Apply(spatial.Vector{X: 0.1}).Sub(spatial.Vector{X: 0.1}).Length(), 1e-9, "the centre of mass stays")
}

// The masses of two links are one body: here two balls on a bar, by Steiner's rule.
func TestLinksAreOneBody(t *testing.T) {
	m := thing("m", sphere(0.1), spatial.Vector{}, 0.1, 0, 0)
	other := *m.Links[0]
	other.Pose.Position = spatial.Vector{X: 2}
	m.Links = append(m.Links, &other)
	got := massOf(m, spatial.Identity)
	assert.Equal(t, Mass{Mass: 2, Centre: spatial.Vector{X: 1}, IXX: 0.2, IYY: 2.2, IZZ: 2.2}, got)
}

func TestWhatNoWorldCanBe(t *testing.T) {
	light := thing("light", sphere(1), spatial.Vector{}, 1, 0, 0)
	light.Place = sdf.Place{File: "w.sdf", Line: 7}
	light.Links[0].Inertial.Mass = 0
	flat := thing("flat", sphere(1), spatial.Vector{}, 0, 0, 0)
	for _, c := range []struct {
		w    *sdf.World
		want string
	}{
		{worldOf(0), "world w: a step of 0s; write a positive max_step_size"},
		{worldOf(ms, light), "w.sdf:7: model light: its links have no mass; give one of them an inertial with a mass above 0, or write <static>true</static>"},
		{worldOf(ms, flat), ":0: model flat: its moments of inertia are those of no body; write positive ixx, iyy and izz"},
	} {
		_, err := New(Config{World: c.w})
		assert.EqualError(t, err, c.want)
	}
	nan := worldOf(ms, thing("m", sphere(1), spatial.Vector{Z: math.NaN()}, 1, 0, 0))
	_, err := New(Config{World: nan})
	assert.EqualError(t, err, "world w: it sets pose of entity 2: number 3 is NaN")
}

// push gives a model a velocity.
func push(t *testing.T, s *Server, name string, velocity spatial.Vector) {
	t.Helper()
	set := s.store.View(0)
	for e, value := range set.With(Name) {
		if string(value) == name {
			set.Set(e, Velocity, PairBytes(velocity, spatial.Vector{}), ecm.OneTime)
		}
	}
	_, err := s.store.Merge([]ecm.Writer{{Written: ecm.Written{By: "test", Changes: set.Changes()}}})
	require.NoError(t, err)
}
