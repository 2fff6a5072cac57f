package world

import (
	"math"

	"metasim/federates/spatial"
)

// A plane is one that bodies bounce off.
type plane struct {
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
	pose       spatial.Pose
	mass       Mass
	centre     spatial.Vector // of mass, in the world
	v, w       spatial.Vector // of the centre; of the rotation
	a          spatial.Vector // acceleration of the centre
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

// resistance returns the impulse that a unit of velocity in a direction takes at a point.
func (b *body) resistance(direction, at spatial.Vector) float64 {
	turn := times(b.invInertia, at.Cross(direction)).Cross(at)
	return 1 / (1/b.mass.Mass + turn.Dot(direction))
}

// velocity is that of a point of the body, which is given from the centre of mass.
func (b *body) velocity(at spatial.Vector) spatial.Vector { return b.v.Add(b.w.Cross(at)) }

// rub applies friction at a point of contact, by at most an impulse of the given size, and returns the impulse.
func (b *body) rub(normal, at spatial.Vector, most float64) spatial.Vector {
	slip := b.velocity(at)
	slip = slip.Sub(normal.Scale(slip.Dot(normal)))
	speed := slip.Length()
	if speed == 0 || most <= 0 {
		return spatial.Vector{}
	}
	direction := slip.Scale(1 / speed)
	impulse := direction.Scale(-math.Min(most, float64(speed*b.resistance(direction, at))))
	b.push(impulse, at)
	return impulse
}
