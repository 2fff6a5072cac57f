package sdf

import (
	"strings"

	"metasim/federates/spatial"
)

func (b builder) model(n *node, s *scope) *Model {
	m := &Model{
		Place: n.Place, Name: n.name(), Pose: spatial.Identity,
		Static: n.bool("static", false), SelfCollide: n.bool("self_collide", false),
	}
	m.CanonicalLink, _ = n.Attribute("canonical_link")
	b.checkFrames(s)
	for _, c := range n.children {
		switch c.Name {
		case "link":
			l := b.link(c)
			l.Pose = b.framePose(s, c)
			m.Links = append(m.Links, l)
		case "joint":
			m.Joints = append(m.Joints, b.joint(c, s))
		case "model":
			inner := b.model(c, s.inner(c))
			inner.Pose = b.framePose(s, c)
			m.Models = append(m.Models, inner)
		case "plugin":
			m.Plugins = append(m.Plugins, b.plugin(c))
		}
	}
	switch {
	case len(m.Links) == 0 && len(m.Models) == 0 && !m.Static:
		b.wrong(n.Place, "the model %q has no <link>; add one, or make the model static", m.Name)
	case m.CanonicalLink != "" && s.find(m.CanonicalLink) == nil:
		b.wrong(n.Place, "the canonical_link %q is not in the model %q; name one of its links", m.CanonicalLink, m.Name)
	}
	if frame, _ := n.Attribute("placement_frame"); frame != "" && s.find(frame) == nil {
		b.wrong(n.Place, "the placement_frame %q is not in the model %q; name one of its links or frames", frame, m.Name)
	}
	return m
}

// jointTypes are those that Gazebo's reader knows.
var jointTypes = []string{"ball", "continuous", "fixed", "gearbox", "prismatic", "revolute", "revolute2", "screw", "universal"}

// joint reads a joint, and checks that both its ends are there and are two.
func (b builder) joint(n *node, s *scope) *Joint {
	kind, _ := n.Attribute("type")
	j := &Joint{Place: n.Place, Name: n.name(), Type: kind, Parent: n.text("parent", ""), Child: n.text("child", "")}
	if kind != "" {
		b.oneOf(n.Place, "the type of <joint>", strings.ToLower(kind), jointTypes...)
	}
	for _, axis := range []string{"axis", "axis2"} {
		if c := n.at(axis + "/xyz"); c != nil && n.vector(axis+"/xyz", spatial.Vector{Z: 1}).Length() == 0 {
			b.wrong(c.Place, "<xyz> of the <%s> has no length; write a direction, as in 0 0 1", axis)
		}
	}
	if j.Parent == "" || j.Child == "" {
		return j // conform has said so
	}
	parent, child := s.body(j.Parent), s.body(j.Child)
	if j.Parent == "world" {
		parent = s.root()
	}
	switch {
	case parent == nil:
		b.wrong(n.Place, "the joint %q has the parent %q, which is not in the model; name a link, a frame or world", j.Name, j.Parent)
	case child == nil:
		b.wrong(n.Place, "the joint %q has the child %q, which is not in the model; name a link or a frame", j.Name, j.Child)
	case parent == child:
		b.wrong(n.Place, "the joint %q ties the link %q to itself; name two links", j.Name, parent.name())
	}
	return j
}

func (b builder) link(n *node) *Link {
	l := &Link{
		Place: n.Place, Name: n.name(), Gravity: n.bool("gravity", true), Kinematic: n.bool("kinematic", false),
		Inertial: b.inertial(n),
	}
	for _, c := range n.children {
		switch c.Name {
		case "collision":
			l.Collisions = append(l.Collisions, b.collision(c))
		case "visual":
			l.Visuals = append(l.Visuals, b.visual(c))
		case "sensor":
			l.Sensors = append(l.Sensors, b.sensor(c))
		case "light":
			l.Lights = append(l.Lights, b.light(c))
		case "particle_emitter":
			kind, _ := c.Attribute("type")
			b.oneOf(c.Place, "the type of <particle_emitter>", kind, "point", "box", "cylinder", "ellipsoid")
		}
	}
	return l
}

func (b builder) collision(n *node) *Collision {
	return &Collision{
		Place: n.Place, Name: n.name(), Pose: b.withinLink(n), Geometry: b.geometry(n),
		Surface: Surface{
			Restitution: n.float("surface/bounce/restitution_coefficient", 0),
			Threshold:   min(n.float("surface/bounce/threshold", 100000), 100000),
			Friction:    n.float("surface/friction/ode/mu", 1),
			Friction2:   n.float("surface/friction/ode/mu2", 1),
		},
	}
}

func (b builder) visual(n *node) *Visual {
	white := Color{1, 1, 1, 1}
	v := &Visual{
		Place: n.Place, Name: n.name(), Pose: b.withinLink(n), Geometry: b.geometry(n),
		Transparency: min(max(n.float("transparency", 0), 0), 1), CastShadows: n.bool("cast_shadows", true),
		Material: Material{
			Ambient: n.color("material/ambient", white), Diffuse: n.color("material/diffuse", white),
			Specular: n.color("material/specular", Color{0, 0, 0, 1}), Emissive: n.color("material/emissive", Color{0, 0, 0, 1}),
		},
	}
	if script := n.at("material/script"); script != nil && (script.text("uri", "__default__") == "__default__" || script.text("name", "__default__") == "__default__") {
		b.wrong(script.Place, "<script> needs a <uri> and a <name>; add both, or remove it")
	}
	if shader := n.at("material/shader"); shader != nil {
		kind, _ := shader.Attribute("type")
		b.oneOf(shader.Place, "the type of <shader>", kind, "pixel", "vertex", "normal_map_objectspace", "normal_map_tangentspace")
	}
	return v
}
