package world

import (
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
)

// Physics moves the models of a world, each one rigid body, by semi-implicit Euler steps: spheres and boxes that bounce off the planes
// of static models and slide on them, and meet one another and the spheres and boxes of static models.
//
// Every product that is added to something is converted to float64, so that no processor fuses the two; of package math it uses square
// roots and absolute values alone, which are exact everywhere.
type Physics struct{}

// Update moves all models by a step.
func (Physics) Update(i Info, v *ecm.View) error {
	Move(i, v, func(ecm.Entity) bool { return true })
	return nil
}

// Move moves those models by a step that are chosen. They do what they do when all are moved, if all that they may meet in the step are among them: see [Reaches].
func Move(i Info, v *ecm.View, chosen func(ecm.Entity) bool) {
	dt := i.Step.Seconds()
	gravity := gravityOf(v)
	planes, obstacles, shapes := collisions(v)
	var moving []ecm.Entity
	var bodies []*body
	for e, value := range v.With(Velocity) {
		if !chosen(e) {
			continue
		}
		if b, ok := bodyOf(e, value, gravity, v); ok {
			b.shapes = shapes[e]
			moving, bodies = append(moving, e), append(bodies, &b)
		}
		v.Unset(e, Force)
	}
	advance(bodies, obstacles, planes, dt)
	for i, e := range moving {
		v.Set(e, Pose, PoseBytes(bodies[i].pose), ecm.Periodic)
		v.Set(e, Velocity, PairBytes(bodies[i].v, bodies[i].w), ecm.Periodic)
	}
}

func gravityOf(v *ecm.View) spatial.Vector {
	if b, found := v.Get(Root, Gravity); found {
		return VectorOf(b)
	}
	return spatial.Vector{}
}

// collisions returns the planes of static models, their spheres and boxes, and the shapes of the other models.
func collisions(v *ecm.View) (planes []plane, obstacles []*body, shapes map[ecm.Entity][]shape) {
	shapes = map[ecm.Entity][]shape{}
	of := map[ecm.Entity]*body{}
	for e, value := range v.With(Surface) {
		link := v.Parent(e)
		model := v.Parent(link)
		pose, found := v.Get(model, Pose)
		form, has := v.Get(e, Shape)
		if !found || !has {
			continue
		}
		s := shapeOf(v, link, e, form, value)
		if _, static := v.Get(model, Static); !static {
			shapes[model] = append(shapes[model], s)
			continue
		}
		if at := PoseOf(pose).Mul(s.pose); s.Kind == Plane {
			planes = append(planes, plane{model, at.Position, at.Rotation.Rotate(s.Normal), s.restitution, s.friction})
		} else if s.Kind == Sphere || s.Kind == Box {
			if of[model] == nil {
				of[model] = obstacle(model, PoseOf(pose))
				obstacles = append(obstacles, of[model])
			}
			of[model].shapes = append(of[model].shapes, s)
		}
	}
	return planes, obstacles, shapes
}

// shapeOf returns the shape of a collision of a link, in the frame of the model.
func shapeOf(v *ecm.View, link, collision ecm.Entity, form, surface []byte) shape {
	s := shape{Geometry: GeometryOf(form), pose: poseIn(v, link).Mul(poseIn(v, collision))}
	s.restitution, s.friction = SurfaceOf(surface)
	return s
}

func poseIn(v *ecm.View, e ecm.Entity) spatial.Pose {
	if b, found := v.Get(e, Pose); found {
		return PoseOf(b)
	}
	return spatial.Identity
}

// bodyOf returns the body of a model; false for one that does not move.
func bodyOf(e ecm.Entity, velocity []byte, gravity spatial.Vector, v *ecm.View) (b body, ok bool) {
	if !b.find(e, velocity, v) {
		return b, false
	}
	b.pull(gravity)
	b.inertia = turned(b.mass.moments(), b.pose.Rotation)
	b.invInertia, ok = inverse(b.inertia)
	return b, ok
}

// find looks up the state of a model; false for one that does not move.
func (b *body) find(e ecm.Entity, velocity []byte, v *ecm.View) bool {
	pose, posed := v.Get(e, Pose)
	mass, massive := v.Get(e, Inertial)
	if _, static := v.Get(e, Static); static || !posed || !massive {
		return false
	}
	b.entity, b.pose, b.mass = e, PoseOf(pose), MassOf(mass)
	b.v, b.w = PairOf(velocity)
	b.force, b.torque = spatial.Vector{}, spatial.Vector{}
	f, found := v.Get(e, Force)
	if b.pulled = found; found {
		b.force, b.torque = PairOf(f)
	}
	return true
}

// pull gives the body the acceleration of its weight and of the force on it.
func (b *body) pull(gravity spatial.Vector) {
	b.centre, b.a = b.pose.Apply(b.mass.Centre), gravity
	if b.pulled {
		b.a = gravity.Add(b.force.Scale(1 / b.mass.Mass))
	}
}

// advance moves bodies by a step. Those that may meet others in it are moved together, island by island, so that what happens to a body depends on
// its own island alone.
func advance(bodies, obstacles []*body, planes []plane, dt float64) {
	for _, b := range bodies {
		b.w = times(b.invInertia, times(b.inertia, b.w).Add(b.torque.Scale(dt)))
		b.ahead = b.v.Add(b.a.Scale(dt)) // Reaches does so too
	}
	moved := map[*body]bool{}
	all := slices.Concat(bodies, obstacles)
	for _, l := range islands(bodies, meetings(all, dt)) {
		l.step(planes, dt)
		for _, b := range l.bodies {
			moved[b] = true
		}
	}
	for _, b := range bodies {
		if !moved[b] {
			b.alone(planes, dt)
		}
		b.turn(dt)
		b.pose.Position = b.centre.Sub(b.pose.Rotation.Rotate(b.mass.Centre))
	}
}

// alone moves a body that meets no other.
func (b *body) alone(planes []plane, dt float64) {
	if s := b.sphere(); s != nil {
		b.flySphere(s, planes, dt)
		return
	}
	together([]*body{b}, b.onPlanes(nil, planes, dt), dt)
}

// turn turns the body by its angular velocity. Its angular momentum stays, so that the velocity changes if its moments differ: then that in the middle of
// the step counts, as the energy would drift otherwise.
func (b *body) turn(dt float64) {
	if b.w == (spatial.Vector{}) {
		return
	}
	m := b.mass
	if m.IXX == m.IYY && m.IYY == m.IZZ && m.IXY == 0 && m.IXZ == 0 && m.IYZ == 0 {
		b.pose.Rotation = turnedBy(b.pose.Rotation, b.w.Scale(dt/2))
		return
	}
	momentum := times(b.inertia, b.w)
	middle, ok := inverse(turned(m.moments(), turnedBy(b.pose.Rotation, b.w.Scale(dt/4))))
	if ok {
		b.w = times(middle, momentum)
	}
	b.pose.Rotation = turnedBy(b.pose.Rotation, b.w.Scale(dt/2))
	if end, ok := inverse(turned(m.moments(), b.pose.Rotation)); ok {
		b.w = times(end, momentum)
	}
}

// turnedBy turns a rotation by twice an angle, which is small.
func turnedBy(r spatial.Rotation, h spatial.Vector) spatial.Rotation {
	d := spatial.Rotation{X: h.X, Y: h.Y, Z: h.Z}.Mul(r)
	return spatial.Rotation{W: r.W + d.W, X: r.X + d.X, Y: r.Y + d.Y, Z: r.Z + d.Z}.Normalized()
}
