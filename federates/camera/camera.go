// Package camera makes pictures of worlds, in software: it follows one ray of light for each pixel. Spheres, boxes, cylinders and planes are seen,
// with their colors, the light of each lamp, and shadows. The same world gives the same picture, byte by byte, on every processor.
//
// A Scene is made of a world once. For each picture it is told where the links are by then.
package camera

import (
	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// A Scene is what cameras see of a world.
type Scene struct {
	Links  []Link // of a file: those that have something to be seen, carry a light or a camera
	Views  []View
	solids []solid
	lamps  []lamp

	ambient, background sdf.Color
	shadows             bool
}

// A Link is one whose pose a picture depends on.
type Link struct {
	Models []string // the names of its models, from the outermost
	Name   string
	Pose   spatial.Pose // in the world, where the file places it
}

// A View is a camera that a link carries.
type View struct {
	Link   int          // in Scene.Links
	Offset spatial.Pose // in the frame of the link
	Sensor *sdf.Sensor
	Entity ecm.Entity // of the sensor, in the scene of a state
}

// A solid is a shape of a link.
type solid struct {
	link     int
	offset   spatial.Pose
	geometry sdf.Geometry
	material sdf.Material
	clear    float64 // transparency
	casts    bool
}

// A lamp is a light of a link, or of the world if link is below 0.
type lamp struct {
	link  int
	light *sdf.Light
}

// New returns the scene of a world.
func New(w *sdf.World) *Scene {
	s := &Scene{ambient: w.Scene.Ambient, background: w.Scene.Background, shadows: w.Scene.Shadows}
	for _, l := range w.Lights {
		s.lamps = append(s.lamps, lamp{-1, l})
	}
	for _, m := range w.Models {
		s.model(m, nil, spatial.Identity)
	}
	return s
}

// model adds a model and those nested in it.
func (s *Scene) model(m *sdf.Model, outer []string, frame spatial.Pose) {
	names := append(outer[:len(outer):len(outer)], m.Name)
	frame = frame.Mul(m.Pose)
	for _, l := range m.Links {
		if len(l.Visuals)+len(l.Sensors)+len(l.Lights) == 0 {
			continue
		}
		i := len(s.Links)
		s.Links = append(s.Links, Link{names, l.Name, frame.Mul(l.Pose)})
		for _, v := range l.Visuals {
			if v.Geometry.Shape != sdf.Empty && v.Geometry.Shape != sdf.Other && v.Transparency < 1 {
				s.solids = append(s.solids, solid{i, v.Pose, v.Geometry, v.Material, v.Transparency, v.CastShadows})
			}
		}
		for _, sensor := range l.Sensors {
			if sensor.Camera != nil {
				s.Views = append(s.Views, View{Link: i, Offset: sensor.Pose.Mul(sensor.Camera.Pose), Sensor: sensor})
			}
		}
		for _, light := range l.Lights {
			s.lamps = append(s.lamps, lamp{i, light})
		}
	}
	for _, inner := range m.Models {
		s.model(inner, names, frame)
	}
}

// Lit gives the scene another background and another light from everywhere; nil leaves what it has.
func (s *Scene) Lit(background, ambient *sdf.Color) {
	if background != nil {
		s.background = *background
	}
	if ambient != nil {
		s.ambient = *ambient
	}
}

// Placed returns where the file places the links, for a picture of the world before it moves.
func (s *Scene) Placed() []spatial.Pose {
	poses := make([]spatial.Pose, len(s.Links))
	for i, l := range s.Links {
		poses[i] = l.Pose
	}
	return poses
}
