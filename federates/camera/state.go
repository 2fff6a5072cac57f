package camera

import (
	"encoding/binary"
	"math"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
)

// Of returns the scene of the state of a world: that of New for the world that the state is of, with everything where it is now. Links have no names.
func Of(v *ecm.View) *Scene {
	s := &Scene{}
	links := map[ecm.Entity]int{} // in s.Links
	for e, kind := range v.With(world.Kind) {
		switch string(kind) {
		case "world":
			s.surroundings(v, e)
		case "link":
			if parent, found := v.Get(v.Parent(e), world.Pose); found {
				links[e] = len(s.Links)
				s.Links = append(s.Links, Link{Pose: world.PoseOf(parent).Mul(pose(v, e))})
			}
		}
	}
	for e, kind := range v.With(world.Kind) { // a system may have put something on a link of another, whose number is a greater one
		switch string(kind) {
		case "visual", "sensor", "light":
			link, carried := links[v.Parent(e)]
			if !carried {
				link = -1
			}
			s.add(v, e, string(kind), link)
		}
	}
	return s
}

func (s *Scene) surroundings(v *ecm.View, e ecm.Entity) {
	if b, found := v.Get(e, world.Scene); found {
		s.ambient, s.background, s.shadows = color(b, 0), color(b, 4), float(b, 8) != 0
	}
}

// add adds what is seen, sees or shines. Only a light may stand in the world itself.
func (s *Scene) add(v *ecm.View, e ecm.Entity, kind string, link int) {
	switch kind {
	case "visual":
		shape, has := v.Get(e, world.Shape)
		m, made := v.Get(e, world.Material)
		if !has || !made || link < 0 {
			return
		}
		geometry, drawn := geometryOf(shape)
		if clear := float(m, 16); drawn && clear < 1 {
			material := sdf.Material{Ambient: color(m, 0), Diffuse: color(m, 4), Specular: color(m, 8), Emissive: color(m, 12)}
			s.solids = append(s.solids, solid{link, pose(v, e), geometry, material, clear, float(m, 17) != 0})
		}
	case "sensor":
		if c, found := v.Get(e, world.Camera); found && link >= 0 {
			s.Views = append(s.Views, View{Link: link, Offset: pose(v, e), Entity: e, Sensor: &sdf.Sensor{Camera: &sdf.Camera{
				HorizontalFOV: float(c, 0), Width: int(float(c, 1)), Height: int(float(c, 2)), Near: float(c, 3), Far: float(c, 4),
				NoiseMean: float(c, 5), NoiseStddev: float(c, 6),
			}}})
		}
	case "light":
		if b, found := v.Get(e, world.Light); found {
			kind, _ := v.Get(e, world.Type) // a lamp of no known kind shines on nothing
			s.lamps = append(s.lamps, lamp{link, &sdf.Light{
				Type: string(kind), Pose: pose(v, e), Diffuse: color(b, 0), Specular: color(b, 4),
				Direction: spatial.Vector{X: float(b, 8), Y: float(b, 9), Z: float(b, 10)}, CastShadows: float(b, 11) != 0,
				Range: float(b, 12), Constant: float(b, 13), Linear: float(b, 14), Quadratic: float(b, 15),
			}})
		}
	}
}

// geometryOf reads a shape; false if it is none that is drawn.
func geometryOf(b []byte) (sdf.Geometry, bool) {
	g := world.GeometryOf(b)
	shape, drawn := map[float64]sdf.Shape{world.Box: sdf.Box, world.Sphere: sdf.Sphere, world.Plane: sdf.Plane, world.Cylinder: sdf.Cylinder}[g.Kind]
	return sdf.Geometry{Shape: shape, Size: g.Size, Normal: g.Normal, Radius: g.Radius, Length: g.Length}, drawn
}

// pose returns where something is in what holds it.
func pose(v *ecm.View, e ecm.Entity) spatial.Pose {
	if b, found := v.Get(e, world.Pose); found {
		return world.PoseOf(b)
	}
	return spatial.Identity
}

func color(b []byte, i int) sdf.Color {
	return sdf.Color{R: float(b, i), G: float(b, i+1), B: float(b, i+2), A: float(b, i+3)}
}

// float returns a number of a component, which the schema of the world has checked.
func float(b []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
}
