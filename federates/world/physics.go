package world

import (
	"metasim/federates/ecm"
	"metasim/federates/spatial"
)

// Physics moves the models of a world, each one rigid body, by semi-implicit Euler steps: spheres and boxes that bounce off the planes
// of static models and slide on them. Bodies do not meet each other.
//
// Every product that is added to something is converted to float64, so that no processor fuses the two; of package math it uses square
// roots and absolute values alone, which are exact everywhere.
type Physics struct{}

// Update moves all models by a step.
func (Physics) Update(i Info, v *ecm.View) error {
	dt := i.Step.Seconds()
	gravity := spatial.Vector{}
	if b, found := v.Get(Root, Gravity); found {
		gravity = VectorOf(b)
	}
	planes, shapes := collisions(v)
	for e, value := range v.With(Velocity) {
		if b, ok := bodyOf(e, value, gravity, v); ok {
			b.shapes = shapes[e]
			b.step(planes, dt)
			v.Set(e, Pose, PoseBytes(b.pose), ecm.Periodic)
			v.Set(e, Velocity, PairBytes(b.v, b.w), ecm.Periodic)
		}
		v.Unset(e, Force)
	}
	return nil
}

// collisions returns the planes of static models, and the shapes of the others.
func collisions(v *ecm.View) (planes []plane, shapes map[ecm.Entity][]shape) {
	shapes = map[ecm.Entity][]shape{}
	for e, value := range v.With(Surface) {
		link := v.Parent(e)
		model := v.Parent(link)
		pose, found := v.Get(model, Pose)
		form, has := v.Get(e, Shape)
		if !found || !has {
			continue
		}
		s := shape{Geometry: GeometryOf(form), pose: poseIn(v, link).Mul(poseIn(v, e))}
		s.restitution, s.friction = SurfaceOf(value)
		if _, static := v.Get(model, Static); !static {
			shapes[model] = append(shapes[model], s)
			continue
		}
		if at := PoseOf(pose).Mul(s.pose); s.Kind == Plane {
			planes = append(planes, plane{at.Position, at.Rotation.Rotate(s.Normal), s.restitution, s.friction})
		}
	}
	return planes, shapes
}

func poseIn(v *ecm.View, e ecm.Entity) spatial.Pose {
	if b, found := v.Get(e, Pose); found {
		return PoseOf(b)
	}
	return spatial.Identity
}

// bodyOf returns the body of a model; false for one that does not move.
func bodyOf(e ecm.Entity, velocity []byte, gravity spatial.Vector, v *ecm.View) (b body, ok bool) {
	pose, posed := v.Get(e, Pose)
	mass, massive := v.Get(e, Inertial)
	if _, static := v.Get(e, Static); static || !posed || !massive {
		return b, false
	}
	b.pose, b.mass = PoseOf(pose), MassOf(mass)
	b.v, b.w = PairOf(velocity)
	b.centre, b.a = b.pose.Apply(b.mass.Centre), gravity
	if f, found := v.Get(e, Force); found {
		force, torque := PairOf(f)
		b.a, b.torque = gravity.Add(force.Scale(1/b.mass.Mass)), torque
	}
	b.inertia = turned(b.mass.moments(), b.pose.Rotation)
	b.invInertia, ok = inverse(b.inertia)
	return b, ok
}

func (b *body) step(planes []plane, dt float64) {
	momentum := times(b.inertia, b.w).Add(b.torque.Scale(dt))
	b.w = times(b.invInertia, momentum)
	if s := b.sphere(); s != nil {
		b.flySphere(s, planes, dt)
	} else {
		b.v = b.v.Add(b.a.Scale(dt))
		b.solve(planes, dt)
		b.centre = b.centre.Add(b.v.Scale(dt))
	}
	b.turn(dt)
	b.pose.Position = b.centre.Sub(b.pose.Rotation.Rotate(b.mass.Centre))
}

// turn turns the body by its angular velocity. Its angular momentum stays, so that the velocity changes if its moments differ.
func (b *body) turn(dt float64) {
	if b.w == (spatial.Vector{}) {
		return
	}
	momentum := times(b.inertia, b.w)
	r, h := b.pose.Rotation, b.w.Scale(dt/2)
	d := spatial.Rotation{X: h.X, Y: h.Y, Z: h.Z}.Mul(r)
	b.pose.Rotation = spatial.Rotation{W: r.W + d.W, X: r.X + d.X, Y: r.Y + d.Y, Z: r.Z + d.Z}.Normalized()
	if m := b.mass; m.IXX != m.IYY || m.IYY != m.IZZ || m.IXY != 0 || m.IXZ != 0 || m.IYZ != 0 {
		b.inertia = turned(m.moments(), b.pose.Rotation)
		if inv, ok := inverse(b.inertia); ok {
			b.w = times(inv, momentum)
		}
	}
}
