package world

import (
	"maps"
	"math"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
	"metasim/metasim"
)

// A FirstFast is the first model that was so fast that what it met may be wrong.
type FirstFast struct {
	Iteration    uint64
	Model, Other string
	Way          float64 // metres that it moves in a step
}

// speeds finds models that are too fast for the steps of their world, where that may matter. Contacts are those of where bodies are when a step begins, and how they
// move then. So a body that moves by more than half its size in a step, or is given such a speed in it, may pass through another, or be turned aside by one that
// it only comes near to. Planes have no other side, and stop everything.
//
// Only what systems write is looked at, and what that makes suspect: most models are slow.
type speeds struct {
	known  bool                // what follows is true of the state; false: all of it has to be looked at
	least  float64             // no shape that moves is smaller than twice that
	shaped []ecm.Entity        // whose shapes were written since the last look
	fast   map[ecm.Entity]bool // models that may move by more than least in a step
}

// see notes what was written in a step, also what does not stand.
func (s *speeds) see(step metasim.Time, c *ecm.Changes) {
	for i := 0; i < len(c.Edits) && s.known; i++ {
		edit := &c.Edits[i]
		s.known = !slices.Contains(edit.Removed, Static) // else what stood moves from now on
		for k := range edit.Set {
			switch set := &edit.Set[k]; set.Type {
			case Shape, Surface:
				s.shaped = append(s.shaped, edit.Entity)
			case Velocity:
				s.suspect(step, edit.Entity, set.Value)
			}
		}
	}
}

// suspect notes a model that may be fast.
func (s *speeds) suspect(step metasim.Time, e ecm.Entity, velocity []byte) {
	if speed, _ := PairOf(velocity); speed.Length()*step.Seconds() > s.least {
		s.fast[e] = true
	}
}

// look counts the models that are fast and close to others, after a step.
func (s *speeds) look(i Info, v *ecm.View, stats *Stats) {
	if s.measure(i.Step, v); len(s.fast) == 0 {
		return
	}
	s.known = false // shapes may have gone: least is found anew, so that fewer are suspect
	if s.measure(i.Step, v); len(s.fast) == 0 {
		return
	}
	_, obstacles, shapes := collisions(v)
	for _, e := range slices.Sorted(maps.Keys(s.fast)) {
		way, half := s.way(i.Step, v, e), math.Inf(1)
		for k := range shapes[e] {
			half = math.Min(half, shapes[e][k].half())
		}
		if way.Length() <= half {
			continue
		}
		other := ecm.Entity(0)
		for _, o := range obstacles {
			if other == 0 && passes(v, e, o.entity, shapes[e], o.shapes, way) {
				other = o.entity
			}
		}
		for o := range v.With(Velocity) {
			if other == 0 && o != e && passes(v, e, o, shapes[e], shapes[o], way) {
				other = o
			}
		}
		if other == 0 {
			continue
		}
		if stats.Fast++; stats.FirstFast == nil {
			stats.FirstFast = &FirstFast{i.Iteration, nameOf(v, e), nameOf(v, other), way.Length()}
		}
	}
}

// way returns how far a model moves in a step.
func (s *speeds) way(step metasim.Time, v *ecm.View, e ecm.Entity) spatial.Vector {
	value, _ := v.Get(e, Velocity)
	speed, _ := PairOf(value)
	return speed.Scale(step.Seconds())
}

// measure takes in the shapes that were written. If one is smaller than all before, or nothing is known, it looks at each model.
func (s *speeds) measure(step metasim.Time, v *ecm.View) {
	before := s.least
	if !s.known {
		s.least = math.Inf(1)
		for e := range v.With(Surface) {
			s.size(v, e)
		}
	}
	for _, e := range s.shaped {
		s.size(v, e)
	}
	if s.shaped = s.shaped[:0]; s.known && s.least == before {
		return
	}
	s.known, s.fast = true, map[ecm.Entity]bool{}
	for e, value := range v.With(Velocity) {
		s.suspect(step, e, value)
	}
}

// size takes in how large a shape is, if it moves.
func (s *speeds) size(v *ecm.View, e ecm.Entity) {
	form, formed := v.Get(e, Shape)
	_, collides := v.Get(e, Surface)
	if _, static := v.Get(v.Parent(v.Parent(e)), Static); formed && collides && !static {
		one := shape{Geometry: GeometryOf(form)}
		s.least = math.Min(s.least, one.half())
	}
}

// half is half the least size of a shape.
func (s *shape) half() float64 {
	switch s.Kind {
	case Sphere:
		return s.Radius
	case Box:
		return min(s.Size.X, s.Size.Y, s.Size.Z) / 2
	}
	return math.Inf(1)
}

// passes reports whether a model comes to another one on its way of a step, that before where it is or the one after it.
func passes(v *ecm.View, e, other ecm.Entity, shapes, others []shape, way spatial.Vector) bool {
	pose, on := poseIn(v, e), poseIn(v, other)
	for i := range shapes {
		at := pose.Mul(shapes[i].pose).Position
		for k := range others {
			if o := &others[k]; o.between(on.Mul(o.pose), at.Sub(way), at.Add(way), shapes[i].extent()) {
				return true
			}
		}
	}
	return false
}

// between reports whether a ball of a radius touches a shape on its straight way.
func (s *shape) between(pose spatial.Pose, from, to spatial.Vector, radius float64) bool {
	inverse := pose.Inverse()
	from, to = inverse.Apply(from), inverse.Apply(to)
	way := to.Sub(from)
	switch s.Kind {
	case Sphere:
		part := math.Max(0, math.Min(1, -from.Dot(way)/way.Dot(way)))
		return from.Add(way.Scale(part)).Length() <= s.Radius+radius
	case Box:
		begin, end := 0.0, 1.0
		for _, axis := range [3][3]float64{{from.X, way.X, s.Size.X}, {from.Y, way.Y, s.Size.Y}, {from.Z, way.Z, s.Size.Z}} {
			at, along, half := axis[0], axis[1], float64(axis[2]/2)+radius
			if along == 0 {
				if math.Abs(at) > half {
					return false
				}
				continue
			}
			one, two := (-half-at)/along, (half-at)/along
			begin, end = math.Max(begin, math.Min(one, two)), math.Min(end, math.Max(one, two))
		}
		return begin <= end
	}
	return false
}

func nameOf(v *ecm.View, e ecm.Entity) string {
	name, _ := v.Get(e, Name)
	return string(name)
}
