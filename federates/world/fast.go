package world

import (
	"math"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
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
type speeds struct {
	surfaces, sum uint64 // what least is of: how many surfaces there are, and the sum of their entities
	least         float64
}

// look counts the models that are fast and close to others, after a step.
func (s *speeds) look(i Info, v *ecm.View, stats *Stats) {
	s.measure(v)
	dt := i.Step.Seconds()
	var shapes map[ecm.Entity][]shape
	var obstacles []*body
	for e, value := range v.With(Velocity) {
		speed, _ := PairOf(value)
		if !(speed.Length()*dt > s.least) {
			continue
		}
		if shapes == nil {
			_, obstacles, shapes = collisions(v)
		}
		half := math.Inf(1)
		for k := range shapes[e] {
			half = math.Min(half, shapes[e][k].half())
		}
		way := speed.Scale(dt)
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

// measure finds the least half size of the shapes that move, if other shapes are there than before.
func (s *speeds) measure(v *ecm.View) {
	n, sum := uint64(0), uint64(0)
	for e := range v.With(Surface) {
		n, sum = n+1, sum+uint64(e)
	}
	if n == s.surfaces && sum == s.sum {
		return
	}
	s.surfaces, s.sum, s.least = n, sum, math.Inf(1)
	_, _, shapes := collisions(v)
	for _, all := range shapes {
		for k := range all {
			s.least = math.Min(s.least, all[k].half())
		}
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
