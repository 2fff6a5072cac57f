package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// Add makes a model or a light of the file again, which was removed.
func Add(v *ecm.View, w *sdf.World, name string) (ecm.Entity, error) {
	l := loader{v, pathOf(w)}
	for _, m := range w.Models {
		if m.Name == name {
			return l.model(Root, m)
		}
	}
	for _, light := range w.Lights {
		if light.Name == name {
			return l.light(Root, light), nil
		}
	}
	return 0, fmt.Errorf("the world %s has no model or light %s", w.Name, name)
}

// load makes the entities of the world: each below what holds it in the file.
func (s *Server) load() error {
	v := s.store.View(0)
	w := s.config.World
	l := loader{v, pathOf(w)}
	root := l.entity(0, "world", w.Name)
	l.set(root, Gravity, Numbers(w.Gravity.X, w.Gravity.Y, w.Gravity.Z))
	l.set(root, Scene, Numbers(append(colors(w.Scene.Ambient, w.Scene.Background), truth(w.Scene.Shadows))...))
	for _, light := range w.Lights {
		l.light(root, light)
	}
	for _, m := range w.Models {
		if _, err := l.model(root, m); err != nil {
			return fmt.Errorf("%s:%d: model %s: %w", m.Place.File, m.Place.Line, m.Name, err)
		}
	}
	if err := v.Err(); err != nil {
		return fmt.Errorf("world %s: %w", w.Name, err)
	}
	_, err := s.store.Merge([]ecm.Writer{{Written: ecm.Written{By: "the file", Changes: v.Changes()}}})
	return err
}

type loader struct {
	v    *ecm.View
	path string // with which the topics of sensors begin that have none of their own
}

func (l loader) entity(parent ecm.Entity, kind, name string) ecm.Entity {
	e := l.v.Create(parent)
	l.set(e, Kind, []byte(kind))
	l.set(e, Name, []byte(name))
	return e
}

func (l loader) set(e ecm.Entity, name string, value []byte) { l.v.Set(e, name, value, ecm.OneTime) }

// model makes a model of the world: one rigid body, with all its links and those of the models in it.
func (l loader) model(root ecm.Entity, m *sdf.Model) (ecm.Entity, error) {
	e := l.entity(root, "model", m.Name)
	l.set(e, Pose, PoseBytes(m.Pose))
	if m.Static {
		l.set(e, Static, nil)
	} else {
		mass := massOf(m, spatial.Identity)
		if mass.Mass <= 0 {
			return 0, errors.New("its links have no mass; give one of them an inertial with a mass above 0, or write <static>true</static>")
		}
		if _, ok := inverse(mass.moments()); !ok {
			return 0, errors.New("its moments of inertia are those of no body; write positive ixx, iyy and izz")
		}
		l.set(e, Inertial, mass.bytes())
		l.set(e, Velocity, PairBytes(spatial.Vector{}, spatial.Vector{}))
	}
	l.links(e, m, spatial.Identity, l.path+"/model/"+m.Name)
	return e, nil
}

// links makes the links of a model, and of the models in it, below one entity.
func (l loader) links(e ecm.Entity, m *sdf.Model, at spatial.Pose, path string) {
	for _, link := range m.Links {
		le := l.entity(e, "link", link.Name)
		l.set(le, Pose, PoseBytes(at.Mul(link.Pose)))
		for _, c := range link.Collisions {
			ce := l.entity(le, "collision", c.Name)
			l.set(ce, Pose, PoseBytes(c.Pose))
			l.set(ce, Shape, geometry(c.Geometry).Bytes())
			l.set(ce, Surface, Numbers(c.Surface.Restitution, c.Surface.Friction))
		}
		for _, vis := range link.Visuals {
			l.visual(le, vis)
		}
		for _, sensor := range link.Sensors {
			l.sensor(le, sensor, topicOf(sensor, path, link.Name))
		}
		for _, light := range link.Lights {
			l.light(le, light)
		}
	}
	for _, nested := range m.Models {
		l.links(e, nested, at.Mul(nested.Pose), path+"/model/"+nested.Name)
	}
}

func (l loader) visual(link ecm.Entity, v *sdf.Visual) {
	e := l.entity(link, "visual", v.Name)
	l.set(e, Pose, PoseBytes(v.Pose))
	l.set(e, Shape, geometry(v.Geometry).Bytes())
	m := v.Material
	l.set(e, Material, Numbers(append(colors(m.Ambient, m.Diffuse, m.Specular, m.Emissive), v.Transparency, truth(v.CastShadows))...))
}

func (l loader) sensor(link ecm.Entity, s *sdf.Sensor, topic string) {
	e := l.entity(link, "sensor", s.Name)
	l.set(e, Topic, []byte(topic))
	pose := s.Pose
	if c := s.Camera; c != nil {
		pose = pose.Mul(c.Pose)
		l.set(e, Camera, Numbers(c.HorizontalFOV, float64(c.Width), float64(c.Height), c.Near, c.Far, c.NoiseMean, c.NoiseStddev, s.UpdateRate))
	}
	l.set(e, Pose, PoseBytes(pose))
}

func pathOf(w *sdf.World) string { return "/world/" + w.Name }

// topicOf is the topic of a sensor: its own, or that which Gazebo gives it.
func topicOf(s *sdf.Sensor, path, link string) string {
	return cmp.Or(s.Topic, path+"/link/"+link+"/sensor/"+s.Name+"/image")
}

// CameraTopics returns the topics of the cameras of a world, in the order of its file.
func CameraTopics(w *sdf.World) (topics []string) {
	var of func(models []*sdf.Model, path string)
	of = func(models []*sdf.Model, path string) {
		for _, m := range models {
			path := path + "/model/" + m.Name
			for _, link := range m.Links {
				for _, s := range link.Sensors {
					if topic := topicOf(s, path, link.Name); s.Camera != nil && !slices.Contains(topics, topic) {
						topics = append(topics, topic)
					}
				}
			}
			of(m.Models, path)
		}
	}
	of(w.Models, pathOf(w))
	return topics
}

func (l loader) light(parent ecm.Entity, light *sdf.Light) ecm.Entity {
	e := l.entity(parent, "light", light.Name)
	l.set(e, Pose, PoseBytes(light.Pose))
	l.set(e, Type, []byte(light.Type))
	d := light.Direction
	l.set(e, Light, Numbers(append(colors(light.Diffuse, light.Specular), d.X, d.Y, d.Z, truth(light.CastShadows),
		light.Range, light.Constant, light.Linear, light.Quadratic)...))
	return e
}

func colors(all ...sdf.Color) (xs []float64) {
	for _, c := range all {
		xs = append(xs, c.R, c.G, c.B, c.A)
	}
	return xs
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func geometry(g sdf.Geometry) Geometry {
	kind := map[sdf.Shape]float64{sdf.Box: Box, sdf.Sphere: Sphere, sdf.Plane: Plane, sdf.Cylinder: Cylinder}[g.Shape]
	if kind == 0 {
		kind = Other
	}
	return Geometry{kind, g.Size, g.Normal, g.Radius, g.Length}
}

// massOf adds up the masses of a model's links.
func massOf(m *sdf.Model, at spatial.Pose) (sum Mass) {
	for _, link := range m.Links {
		i := link.Inertial
		p := at.Mul(link.Pose).Mul(i.Pose)
		about := turned([6]float64{i.IXX, i.IXY, i.IXZ, i.IYY, i.IYZ, i.IZZ}, p.Rotation)
		sum = sum.plus(Mass{i.Mass, p.Position, about[0], about[1], about[2], about[3], about[4], about[5]})
	}
	for _, nested := range m.Models {
		sum = sum.plus(massOf(nested, at.Mul(nested.Pose)))
	}
	return sum
}

// plus is the mass of two bodies as one: moments are moved to the common centre by Steiner's rule.
func (m Mass) plus(n Mass) Mass {
	switch {
	case m.Mass == 0:
		return n
	case n.Mass == 0:
		return m
	}
	total := m.Mass + n.Mass
	centre := m.Centre.Scale(m.Mass / total).Add(n.Centre.Scale(n.Mass / total))
	a, b := m.about(centre), n.about(centre)
	return Mass{total, centre, a.IXX + b.IXX, a.IXY + b.IXY, a.IXZ + b.IXZ, a.IYY + b.IYY, a.IYZ + b.IYZ, a.IZZ + b.IZZ}
}

func (m Mass) about(p spatial.Vector) Mass {
	d := m.Centre.Sub(p)
	k := m.Mass
	m.IXX += float64(k * (float64(d.Y*d.Y) + float64(d.Z*d.Z)))
	m.IYY += float64(k * (float64(d.X*d.X) + float64(d.Z*d.Z)))
	m.IZZ += float64(k * (float64(d.X*d.X) + float64(d.Y*d.Y)))
	m.IXY -= float64(k * float64(d.X*d.Y))
	m.IXZ -= float64(k * float64(d.X*d.Z))
	m.IYZ -= float64(k * float64(d.Y*d.Z))
	m.Centre = p
	return m
}
