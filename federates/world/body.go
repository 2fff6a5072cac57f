package world

import (
	"math"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
)

// A plane is one that bodies bounce off.
type plane struct {
	entity                ecm.Entity // of the model
	point, normal         spatial.Vector
	restitution, friction float64
}

// A shape is one of a body, in the frame of the body.
type shape struct {
	Geometry
	pose                  spatial.Pose
	restitution, friction float64
}

// A body is a model that moves.
type body struct {
	entity     ecm.Entity
	pose       spatial.Pose
	mass       Mass
	fixed      bool           // nothing moves it
	centre     spatial.Vector // of mass, in the world
	v, w       spatial.Vector // of the centre; of the rotation
	ahead      spatial.Vector // velocity at the end of the step, if nothing is in the way
	a          spatial.Vector // acceleration of the centre
	force      spatial.Vector
	pulled     bool // there is a force, which may be zero
	torque     spatial.Vector
	shapes     []shape
	inertia    symmetric // about the centre, in the axes of the world
	invInertia symmetric
}

// push changes the velocities by an impulse at a point, which is given from the centre of mass.
func (b *body) push(impulse, at spatial.Vector) {
	b.v = b.v.Add(impulse.Scale(1 / b.mass.Mass))
	b.w = b.w.Add(times(b.invInertia, at.Cross(impulse)))
}

// lightness returns the velocity that a unit of impulse in a direction gives a point.
func (b *body) lightness(direction, at spatial.Vector) float64 {
	turn := times(b.invInertia, at.Cross(direction)).Cross(at)
	return 1/b.mass.Mass + turn.Dot(direction)
}

// rub applies friction at a point of contact with something fixed, by at most an impulse of the given size.
func (b *body) rub(normal, at spatial.Vector, most float64) {
	t := touch{body: b, normal: normal, at: at}
	t.rub(most)
}

// A touch is a point at which a body meets a plane, or another body, in a step.
type touch struct {
	body, other *body          // other is nil for a plane
	normal      spatial.Vector // toward body
	at, on      spatial.Vector // the point on body and on other, from their centres of mass
	least       float64        // the velocity along the normal that body is to have at least, as other sees it
	friction    float64
	depth       float64 // how far body is inside other
	resistance  float64 // along the normal

	pressed float64        // impulses so far, along the normal
	tangent spatial.Vector // and across it
}

// speed is the velocity of body at the point, as other sees it, if their centres have these velocities.
func (t *touch) speed(v, other spatial.Vector) spatial.Vector {
	speed := v.Add(t.body.w.Cross(t.at))
	if t.other != nil {
		speed = speed.Sub(other.Add(t.other.w.Cross(t.on)))
	}
	return speed
}

// slip is the present velocity.
func (t *touch) slip() spatial.Vector {
	if t.other == nil {
		return t.speed(t.body.v, spatial.Vector{})
	}
	return t.speed(t.body.v, t.other.v)
}

// push changes the velocities of both by an impulse on body.
func (t *touch) push(impulse spatial.Vector) {
	t.body.push(impulse, t.at)
	if t.other != nil {
		t.other.push(impulse.Scale(-1), t.on)
	}
}

// against returns the impulse that a unit of velocity in a direction takes.
func (t *touch) against(direction spatial.Vector) float64 {
	lightness := t.body.lightness(direction, t.at)
	if t.other != nil {
		lightness += t.other.lightness(direction, t.on)
	}
	return 1 / lightness
}

// rub applies friction by at most an impulse of the given size, and returns the impulse.
func (t *touch) rub(most float64) spatial.Vector {
	slip := t.slip()
	slip = slip.Sub(t.normal.Scale(slip.Dot(t.normal)))
	speed := slip.Length()
	if speed == 0 || most <= 0 {
		return spatial.Vector{}
	}
	direction := slip.Scale(1 / speed)
	impulse := direction.Scale(-math.Min(most, float64(speed*t.against(direction))))
	t.push(impulse)
	return impulse
}

// share divides the depth of the contacts of a pair among them.
func share(contacts []touch) {
	for i := range contacts {
		contacts[i].depth /= float64(len(contacts))
	}
}

// work returns the work against what pulls both, where mend moves them.
func (t *touch) work() float64 {
	way := t.out()
	work := -way.Dot(t.body.a)
	if t.other != nil {
		work += way.Dot(t.other.a)
	}
	return work
}

// out is a fifth of the way to where neither is inside the other, for each unit of lightness.
func (t *touch) out() spatial.Vector {
	total := 1 / t.body.mass.Mass
	if t.other != nil {
		total += 1 / t.other.mass.Mass
	}
	return t.normal.Scale(t.depth / float64(5*total))
}

// mend moves both a part of that way.
func (t *touch) mend(part float64) {
	way := t.out().Scale(part)
	t.body.centre = t.body.centre.Add(way.Scale(1 / t.body.mass.Mass))
	if t.other != nil {
		t.other.centre = t.other.centre.Sub(way.Scale(1 / t.other.mass.Mass))
	}
}

// together moves bodies by a step, with all their contacts.
func together(bodies []*body, contacts []touch, dt float64) {
	before, spins := 0.0, make([]spatial.Vector, len(bodies))
	for i, b := range bodies {
		before += b.energy(b.v.Add(b.a.Scale(dt/2)), b.w)
		b.v, spins[i] = b.ahead, b.w
	}
	solve(contacts)
	keepEnergy(bodies, spins, before, dt)
	for _, b := range bodies {
		b.centre = b.centre.Add(b.v.Scale(dt))
	}
	mendAll(bodies, contacts, dt)
}

// mendAll brings bodies out of one another. What that lifts them is paid by their motion, as it would be energy from nothing; so what does
// not move comes out slowly.
func mendAll(bodies []*body, contacts []touch, dt float64) {
	work, has, part := 0.0, 0.0, 1.0
	for i := range contacts {
		work += contacts[i].work()
	}
	for _, b := range bodies {
		has += b.energy(b.v.Sub(b.a.Scale(dt/2)), b.w)
	}
	if work > has {
		part, work = has/work, has
	}
	for i := range contacts {
		if contacts[i].depth > 0 {
			contacts[i].mend(part)
		}
	}
	if work <= 0 {
		return
	}
	rest := math.Sqrt(1 - work/has)
	for _, b := range bodies {
		half := b.a.Scale(dt / 2)
		b.v, b.w = half.Add(b.v.Sub(half).Scale(rest)), b.w.Scale(rest)
	}
}

// energy is that of a motion, without what weight adds.
func (b *body) energy(v, w spatial.Vector) float64 {
	return float64(float64(b.mass.Mass*v.Dot(v))/2) + float64(times(b.inertia, w).Dot(w)/2)
}

// keepEnergy takes back a part of all impulses if they have made energy: where a body bounces and rubs at several points at once, what
// each does alone can do so. On the parabola of a semi-implicit step the energy is that of the velocity in its middle.
func keepEnergy(bodies []*body, spins []spatial.Vector, before, dt float64) {
	after, square := 0.0, 0.0
	for i, b := range bodies {
		after += b.energy(b.v.Sub(b.a.Scale(dt/2)), b.w)
		square += b.energy(b.v.Sub(b.ahead), b.w.Sub(spins[i]))
	}
	grown := after - before // of a part f of the impulses: (grown - square) f + square f^2
	if grown <= float64(1e-12*before) || square <= 0 {
		return
	}
	part := math.Max(1-grown/square, 0)
	for i, b := range bodies {
		b.v = b.ahead.Add(b.v.Sub(b.ahead).Scale(part))
		b.w = spins[i].Add(b.w.Sub(spins[i]).Scale(part))
	}
}

// solveRounds is how often contacts are solved in turn. A tower of boxes needs many.
const solveRounds = 60

// solve changes velocities so that no point goes into what it touches in this step (sequential impulses).
func solve(all []touch) {
	for range solveRounds {
		for i := range all {
			t := &all[i]
			lack := t.least - t.slip().Dot(t.normal)
			more := math.Max(t.pressed+float64(lack*t.resistance), 0) - t.pressed
			t.pressed += more
			t.push(t.normal.Scale(more))

			// Friction so far is taken back as far as the normal impulse does not carry it any more.
			t.tangent = t.tangent.Add(t.rub(math.Inf(1)))
			most := float64(t.friction * t.pressed)
			if l := t.tangent.Length(); l > most {
				held := t.tangent.Scale(most / l)
				t.push(held.Sub(t.tangent))
				t.tangent = held
			}
		}
	}
}
