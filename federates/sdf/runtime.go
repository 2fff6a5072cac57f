package sdf

import (
	"errors"
	"slices"
	"strings"

	"metasim/internal/problem"
)

// A Runtime is the configuration of a runtime, as Gazebo's prototype of lock step writes it: the system that runs in a process of its own.
type Runtime struct {
	Place      Place
	EntityName string // of which entity it is the system; * for any
	EntityType string
	Plugin     *Plugin
	// World and System are the two parts of <service>world/system</service>: which client runs the world, and what it calls the system. Empty: it says nothing.
	World, System string
}

// LoadRuntime reads <runtime_config><plugins><plugin .../></plugins></runtime_config>. All errors are returned at once, as a
// *[problem.Invalid].
func LoadRuntime(file string) (*Runtime, []problem.Problem, error) {
	p := &problems{}
	r, err := p.runtime(file)
	var c complaint
	if errors.As(err, &c) {
		p.errors = append(p.errors, c.problem())
	} else if err != nil {
		return nil, nil, err
	}
	warnings := problem.Sorted(p.warnings)
	if len(p.errors) > 0 {
		return nil, warnings, &problem.Invalid{Problems: problem.Sorted(p.errors)}
	}
	return r, warnings, nil
}

func (p *problems) runtime(file string) (*Runtime, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, complaint{Place{File: file}, err.Error()}
	}
	elements := 0
	top, err := parseXML(file, text, &elements)
	if err != nil {
		return nil, err
	}
	if len(top) == 0 || top[0].Name != "runtime_config" {
		return nil, complaint{Place{file, 1, 1}, "this is no configuration of a runtime; begin with <runtime_config><plugins><plugin filename=\"...\" name=\"...\"/>"}
	}
	root := top[0]
	p.others(root, "plugins", "service")
	var found []*node
	root.each("plugins", func(n *node) {
		p.others(n, "plugin")
		n.each("plugin", func(c *node) { found = append(found, c) })
	})
	switch {
	case len(found) == 0:
		return nil, complaint{root.Place, "no plugin is named; add <plugins><plugin filename=\"...\" name=\"...\"/></plugins>"}
	case len(found) > 1:
		return nil, complaint{found[1].Place, "a runtime runs one plugin, and this is the second; move it into a file of its own"}
	}
	n := found[0]
	r := &Runtime{Place: n.Place, EntityName: "*", EntityType: "world", Plugin: builder{p}.plugin(n)}
	for _, a := range n.Attributes {
		switch a.Name {
		case "name", "filename":
		case "entity_name":
			r.EntityName = a.Value
		case "entity_type":
			r.EntityType = a.Value
			p.oneOf(n.Place, "the entity_type of <plugin>", a.Value, "world", "model", "sensor", "visual")
		default:
			p.warn(n.Place, "<plugin> has the attribute %s, which is not read; remove it", a.Name)
		}
	}
	root.each("service", func(n *node) { r.World, r.System = p.service(n) })
	for _, name := range []string{"name", "filename"} {
		if value, _ := n.Attribute(name); value == "" {
			p.wrong(n.Place, "<plugin> has no %s; add %s=\"...\"", name, name)
		}
	}
	return r, nil
}

// service reads <service>world/system</service>.
func (p *problems) service(n *node) (world, system string) {
	world, system, found := strings.Cut(n.Text, "/")
	if !found || world == "" || system == "" || strings.ContainsAny(system, "/ ") || strings.Contains(world, " ") {
		p.wrong(n.Place, "<service> is %q; write the client of the world and the system, as in world/sensors", n.Text)
	}
	return world, system
}

// others warns of elements with other names.
func (p *problems) others(n *node, names ...string) {
	for _, c := range n.children {
		if !slices.Contains(names, c.Name) {
			p.warn(c.Place, "<%s> in <%s> is not read; %s", c.Name, n.Name, asked(c.Name, names))
		}
	}
}
