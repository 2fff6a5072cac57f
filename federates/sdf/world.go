package sdf

import (
	"slices"
	"strings"

	"metasim/federates/spatial"
	"metasim/metasim"
)

// document returns what an sdf element says.
func (p *problems) document(root *node) *Document {
	b := builder{p}
	version, _ := root.Attribute("version")
	d := &Document{Version: version}
	b.names(root)
	root.each("world", func(n *node) { d.Worlds = append(d.Worlds, b.world(n)) })
	root.each("model", func(n *node) {
		if len(d.Models) > 0 {
			b.wrong(n.Place, "a file has at most one model outside of a world; move %q into a file of its own", n.name())
			return
		}
		s := newScope(nil, n)
		d.Models = append(d.Models, b.model(n, s))
	})
	root.each("light", func(n *node) { b.light(n) })
	return d
}

// Words that stand for frames, and cannot be names: world, and what begins and ends with two underscores.
func reserved(name string) bool {
	return name == "world" || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// frames are the elements that have frames, whose names are looked up.
var frames = []string{"world", "model", "link", "joint", "frame", "light", "collision", "visual", "sensor"}

// names notes names that two elements beside one another have, and names that are reserved.
func (b builder) names(n *node) {
	taken := map[string]*node{}
	for _, c := range n.children {
		if c.Name == "plugin" || strings.Contains(c.Name, ":") {
			continue
		}
		name, named := c.Attribute("name")
		if named && name != "" {
			if first := taken[name]; first != nil {
				b.wrong(c.Place, "<%s> is called %q, as <%s> of line %d is; rename one", c.Name, name, first.Name, first.Place.Line)
			}
			taken[name] = c
			if reserved(name) && slices.Contains(frames, c.Name) {
				b.wrong(c.Place, "%q is reserved and cannot be the name of a <%s>; write another name", name, c.Name)
			}
		}
		b.names(c)
	}
}

func (b builder) world(n *node) *World {
	w := &World{
		Place: n.Place, Name: n.name(),
		Gravity: n.vector("gravity", spatial.Vector{Z: -9.8}),
		Physics: b.physics(n),
		Scene: Scene{
			Ambient: n.color("scene/ambient", Color{0.4, 0.4, 0.4, 1}), Background: n.color("scene/background", Color{0.7, 0.7, 0.7, 1}),
			Shadows: n.bool("scene/shadows", true),
		},
	}
	if atmosphere := n.child("atmosphere"); atmosphere != nil {
		kind, _ := atmosphere.Attribute("type")
		b.oneOf(atmosphere.Place, "the type of <atmosphere>", kind, "adiabatic")
	}
	if c := n.at("spherical_coordinates/surface_model"); c != nil {
		b.oneOf(c.Place, "<surface_model>", c.Text, "EARTH_WGS84")
	}
	s := newScope(nil, n)
	b.checkFrames(s)
	for _, c := range n.children {
		switch c.Name {
		case "model":
			inner := s.inner(c)
			m := b.model(c, inner)
			m.Pose = b.framePose(s, c)
			w.Models = append(w.Models, m)
		case "light":
			light := b.light(c)
			light.Pose = b.loosePose(s, c)
			w.Lights = append(w.Lights, light)
		case "plugin":
			w.Plugins = append(w.Plugins, b.plugin(c))
		case "joint":
			b.warn(c.Place, "a joint between models is not read; the models move on their own")
		case "actor", "road", "population", "state":
			b.warn(c.Place, "<%s> is not read, so it is not in the world", c.Name)
		}
	}
	return w
}

// stepDefault is SDF's.
const stepDefault metasim.Time = 1e6

// physics reads how a world is stepped: the default one of several, or else the first.
func (b builder) physics(world *node) Physics {
	var n *node
	world.each("physics", func(c *node) {
		if byDefault, _ := c.Attribute("default"); n == nil || asBool(byDefault, false) {
			n = c
		}
	})
	if n == nil {
		return Physics{Place: Place{File: world.Place.File}, Step: stepDefault, RealTimeFactor: 1}
	}
	kind, _ := n.Attribute("type")
	p := Physics{Place: n.Place, Name: n.name(), Type: kind, RealTimeFactor: n.float("real_time_factor", 1)}
	seconds := n.float("max_step_size", 0.001)
	step, err := metasim.Seconds(seconds)
	if err != nil || step <= 0 {
		b.warn(n.child("max_step_size").Place, "<max_step_size> is %g, which is no step, so 0.001 counts; write seconds above 0", seconds)
		step = stepDefault
	}
	p.Step = step
	return p
}
