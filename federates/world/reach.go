package world

import (
	"metasim/federates/ecm"
	"metasim/metasim"
)

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
			moving = append(moving, reachOf(&b, 0, within.Seconds()))
		}
	}
	for _, b := range obstacles {
		static = append(static, reachOf(b, 0, within.Seconds()))
	}
	for i := range flat {
		if i == 0 || flat[i].entity != flat[i-1].entity {
			planes = append(planes, flat[i].entity)
		}
	}
	return moving, static, planes
}
