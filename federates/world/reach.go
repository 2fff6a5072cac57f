package world

import (
	"metasim/federates/ecm"
	"metasim/federates/spatial"
	"metasim/metasim"
)

// A Reach is the space that a model may touch within a time: a box along the axes.
type Reach struct {
	Entity   ecm.Entity
	Min, Max spatial.Vector
}

// Meets reports whether two models may touch one another.
func (r *Reach) Meets(q *Reach) bool {
	return r.Min.X <= q.Max.X && q.Min.X <= r.Max.X && r.Min.Y <= q.Max.Y && q.Min.Y <= r.Max.Y && r.Min.Z <= q.Max.Z && q.Min.Z <= r.Max.Z
}

// Reaches says what may touch what within a time, which is at least a step: how far the models reach that physics is about to move, and static models,
// in order of their first shapes; and which static models have planes, which everything may touch. Where no reaches meet, physics of a step has no contacts.
// What has no shape is not among them.
func Reaches(i Info, v *ecm.View, within metasim.Time) (moving, static []Reach, planes []ecm.Entity) {
	dt, gravity := i.Step.Seconds(), gravityOf(v)
	flat, obstacles, shapes := collisions(v)
	for e, value := range v.With(Velocity) {
		b, ok := bodyOf(e, value, gravity, v)
		if b.shapes = shapes[e]; ok && len(b.shapes) > 0 {
			b.ahead = b.v.Add(b.a.Scale(dt))
			moving = append(moving, reachWithin(&b, within))
		}
	}
	for _, b := range obstacles {
		static = append(static, reachWithin(b, within))
	}
	for i := range flat {
		if i == 0 || flat[i].entity != flat[i-1].entity {
			planes = append(planes, flat[i].entity)
		}
	}
	return moving, static, planes
}

func reachWithin(b *body, within metasim.Time) Reach {
	r := reachOf(b, 0, within.Seconds())
	return Reach{b.entity, r.min, r.max}
}
