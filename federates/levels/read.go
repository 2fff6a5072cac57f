package levels

import (
	"fmt"
	"slices"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/internal/problem"
	"metasim/internal/suggest"
)

// Read returns the levels and performers of a world, which stand in its plugins gz::sim. What Gazebo leaves out with an error in its
// log is an error here: the error is a *[problem.Invalid].
func Read(w *sdf.World) (*Plan, []problem.Problem, error) {
	r := reader{plan: &Plan{}, levels: map[string]sdf.Place{}, performers: map[string]sdf.Place{}, models: map[string]*Performer{}}
	for _, p := range w.Plugins {
		if p.Name != "gz::sim" && p.Name != "ignition::gazebo" {
			continue
		}
		for _, e := range p.Content {
			switch e.Name {
			case "performer":
				r.performer(e)
			case "level":
				r.level(e)
			default:
				r.unknown(e, "plugin", "level", "performer")
			}
		}
	}
	r.lookUp(w)
	if len(r.errors) > 0 {
		return nil, problem.Sorted(r.warnings), &problem.Invalid{Problems: problem.Sorted(r.errors)}
	}
	return r.plan, problem.Sorted(r.warnings), nil
}

// A reader reads the plugins of one world.
type reader struct {
	plan             *Plan
	levels           map[string]sdf.Place // by name
	performers       map[string]sdf.Place
	models           map[string]*Performer // by the model that they name
	errors, warnings []problem.Problem
}

func problemAt(p sdf.Place, format string, args ...any) problem.Problem {
	return problem.Problem{File: p.File, Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...)}
}

func (r *reader) wrong(at sdf.Place, format string, args ...any) {
	r.errors = append(r.errors, problemAt(at, format, args...))
}

func (r *reader) warn(at sdf.Place, format string, args ...any) {
	r.warnings = append(r.warnings, problemAt(at, format, args...))
}

// unknown warns of an element that means nothing where it stands.
func (r *reader) unknown(e *sdf.Element, within string, known ...string) {
	r.warn(e.Place, "<%s> means nothing in a <%s>, so it is ignored; %s", e.Name, within, suggest.Word(e.Name, known))
}

// only warns of what stands in an element beside these.
func (r *reader) only(e *sdf.Element, known ...string) {
	for _, c := range e.Children {
		if !slices.Contains(known, c.Name) {
			r.unknown(c, e.Name, known...)
		}
	}
}

// name returns the name of a level or a performer, which no other one has.
func (r *reader) name(e *sdf.Element, taken map[string]sdf.Place) string {
	name, _ := e.Attribute("name")
	if name == "" {
		r.wrong(e.Place, "a <%s> has no name; write <%s name=\"...\">", e.Name, e.Name)
		return ""
	}
	if first, there := taken[name]; there {
		r.wrong(e.Place, "the %s %q stands in line %d already; rename one", e.Name, name, first.Line)
	}
	taken[name] = e.Place
	return name
}

// box returns the edges of the box that an element has as its geometry.
func (r *reader) box(e *sdf.Element, name string) (size spatial.Vector, ok bool) {
	form := sdf.Find(e.Children, "geometry")
	if form == nil {
		r.wrong(e.Place, "the %s %q has no box; write <geometry><box><size>10 10 10</size></box></geometry>", e.Name, name)
		return size, false
	}
	box := sdf.Find(form.Children, "box")
	if box == nil {
		shape := "nothing"
		if len(form.Children) > 0 {
			shape = "<" + form.Children[0].Name + ">"
		}
		r.wrong(form.Place, "the geometry of the %s %q is %s, and only a box can be; write <box><size>10 10 10</size></box>", e.Name, name, shape)
		return size, false
	}
	r.only(form, "box")
	r.only(box, "size")
	edges := sdf.Find(box.Children, "size")
	if edges == nil {
		r.wrong(box.Place, "the box of the %s %q has no size; write <size>10 10 10</size>", e.Name, name)
		return size, false
	}
	xs, ok := sdf.Numbers(edges.Text, 3)
	if !ok || xs[0] < 0 || xs[1] < 0 || xs[2] < 0 {
		r.wrong(edges.Place, "the size of the %s %q is %q; write three numbers from 0 on, as in 10 10 10", e.Name, name, edges.Text)
		return size, false
	}
	return spatial.Vector{X: xs[0], Y: xs[1], Z: xs[2]}, true
}

func (r *reader) performer(e *sdf.Element) {
	p := Performer{Place: e.Place, Name: r.name(e, r.performers)}
	r.only(e, "ref", "geometry")
	size, ok := r.box(e, p.Name)
	ref := sdf.Find(e.Children, "ref")
	if ref == nil || ref.Text == "" {
		r.wrong(e.Place, "the performer %q names no model; write <ref>MODEL</ref>", p.Name)
		return
	}
	p.Model, p.Size = ref.Text, size
	if other := r.models[p.Model]; other != nil {
		r.wrong(ref.Place, "the performer %q is the model %q, as the performer %q of line %d is; a model is one performer at most, so remove one",
			p.Name, p.Model, other.Name, other.Place.Line)
		return
	}
	r.models[p.Model] = &p
	if ok {
		r.plan.Performers = append(r.plan.Performers, p)
	}
}

func (r *reader) level(e *sdf.Element) {
	l := Level{Place: e.Place, Name: r.name(e, r.levels)}
	r.only(e, "pose", "geometry", "buffer", "ref")
	size, ok := r.box(e, l.Name)
	var centre spatial.Vector
	if pose := sdf.Find(e.Children, "pose"); pose != nil && pose.Text != "" {
		xs, good := sdf.Numbers(pose.Text, 6)
		if !good {
			r.wrong(pose.Place, "the pose of the level %q is %q; write six numbers, as in 0 0 1 0 0 0", l.Name, pose.Text)
			return
		}
		centre = spatial.Vector{X: xs[0], Y: xs[1], Z: xs[2]}
		if xs[3] != 0 || xs[4] != 0 || xs[5] != 0 {
			r.warn(pose.Place, "the level %q is turned, which is ignored: its box is along the axes; write 0 0 0 for its rotation", l.Name)
		}
	}
	buffer := 0.0
	if b := sdf.Find(e.Children, "buffer"); b != nil {
		xs, good := sdf.Numbers(b.Text, 1)
		switch {
		case !good:
			r.wrong(b.Place, "the buffer of the level %q is %q; write a number from 0 on, as in 5", l.Name, b.Text)
			return
		case xs[0] < 0:
			r.warn(b.Place, "the buffer of the level %q is %g, so 0 counts; write a number from 0 on", l.Name, xs[0])
		default:
			buffer = xs[0]
		}
	}
	for _, c := range e.Children {
		if c.Name == "ref" && c.Text != "" && !slices.Contains(l.Refs, c.Text) {
			l.Refs = append(l.Refs, c.Text)
		}
	}
	if ok {
		l.Inner = spatial.Around(centre, size)
		l.Outer = l.Inner.Grown(buffer)
		r.plan.Levels = append(r.plan.Levels, l)
	}
}

// lookUp warns of models that performers and levels name, and that the world does not have.
func (r *reader) lookUp(w *sdf.World) {
	var names []string
	for _, m := range w.Models {
		names = append(names, m.Name)
	}
	for _, p := range r.plan.Performers {
		if !slices.Contains(names, p.Model) {
			r.warn(p.Place, "the performer %q is the model %q, which the world does not have at its start, so it is waited for; %s", p.Name, p.Model, suggest.Word(p.Model, names))
		}
	}
	for _, l := range w.Lights {
		names = append(names, l.Name)
	}
	for _, l := range r.plan.Levels {
		for _, ref := range l.Refs {
			if p := r.models[ref]; p != nil {
				r.warn(l.Place, "the level %q has the model %q, which is the performer %q and so always in the world; remove that <ref>", l.Name, ref, p.Name)
			} else if !slices.Contains(names, ref) {
				r.warn(l.Place, "the level %q has the model %q, which the world does not have; %s", l.Name, ref, suggest.Word(ref, names))
			}
		}
	}
}
