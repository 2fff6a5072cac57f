// Package spatial has the geometry of worlds: vectors, rotations and poses, with the same bits on every processor.
//
// A Go compiler may fuse a product and a sum into one instruction, which rounds once instead of twice, and does so on some processors
// only. A conversion of the product to float64 forbids it. So every product here that is added to something is converted.
package spatial

import (
	"math"

	"metasim/internal/trig"
)

// A Vector is a point, a direction or an extent, in metres where it has a unit.
type Vector struct{ X, Y, Z float64 }

// Add returns v + w.
func (v Vector) Add(w Vector) Vector { return Vector{v.X + w.X, v.Y + w.Y, v.Z + w.Z} }

// Sub returns v - w.
func (v Vector) Sub(w Vector) Vector { return Vector{v.X - w.X, v.Y - w.Y, v.Z - w.Z} }

// Scale returns f times v.
func (v Vector) Scale(f float64) Vector {
	return Vector{float64(f * v.X), float64(f * v.Y), float64(f * v.Z)}
}

// Dot returns the inner product.
func (v Vector) Dot(w Vector) float64 {
	return float64(v.X*w.X) + float64(v.Y*w.Y) + float64(v.Z*w.Z)
}

// Cross returns the vector product.
func (v Vector) Cross(w Vector) Vector {
	return Vector{
		float64(v.Y*w.Z) - float64(v.Z*w.Y),
		float64(v.Z*w.X) - float64(v.X*w.Z),
		float64(v.X*w.Y) - float64(v.Y*w.X),
	}
}

// Length returns the length of v.
func (v Vector) Length() float64 { return math.Sqrt(v.Dot(v)) }

// Unit returns v with length 1; a vector without length stays as it is.
func (v Vector) Unit() Vector {
	if l := v.Length(); l > 0 {
		return v.Scale(1 / l)
	}
	return v
}

// A Rotation is a quaternion of length 1. The zero value is no rotation: use None.
type Rotation struct{ W, X, Y, Z float64 }

// None turns nothing.
var None = Rotation{W: 1}

// FromEuler returns the rotation about the fixed axes X, then Y, then Z, by angles in radians: roll, pitch and yaw of SDF.
func FromEuler(roll, pitch, yaw float64) Rotation {
	sr, cr := trig.Sincos(roll / 2)
	sp, cp := trig.Sincos(pitch / 2)
	sy, cy := trig.Sincos(yaw / 2)
	cc, ss, cs, sc := float64(cp*cy), float64(sp*sy), float64(cp*sy), float64(sp*cy)
	return Rotation{
		float64(cr*cc) + float64(sr*ss),
		float64(sr*cc) - float64(cr*ss),
		float64(cr*sc) + float64(sr*cs),
		float64(cr*cs) - float64(sr*sc),
	}
}

// Mul returns the rotation that turns as s does, and then as r does.
func (r Rotation) Mul(s Rotation) Rotation {
	return Rotation{
		float64(r.W*s.W) - float64(r.X*s.X) - float64(r.Y*s.Y) - float64(r.Z*s.Z),
		float64(r.W*s.X) + float64(r.X*s.W) + float64(r.Y*s.Z) - float64(r.Z*s.Y),
		float64(r.W*s.Y) - float64(r.X*s.Z) + float64(r.Y*s.W) + float64(r.Z*s.X),
		float64(r.W*s.Z) + float64(r.X*s.Y) - float64(r.Y*s.X) + float64(r.Z*s.W),
	}
}

// Inverse turns back.
func (r Rotation) Inverse() Rotation { return Rotation{r.W, -r.X, -r.Y, -r.Z} }

// Rotate returns v, turned.
func (r Rotation) Rotate(v Vector) Vector {
	axis := Vector{r.X, r.Y, r.Z}
	twice := axis.Cross(v).Scale(2)
	return v.Add(twice.Scale(r.W)).Add(axis.Cross(twice))
}

// Normalized returns r with length 1 again, after many products.
func (r Rotation) Normalized() Rotation {
	l := math.Sqrt(float64(r.W*r.W) + float64(r.X*r.X) + float64(r.Y*r.Y) + float64(r.Z*r.Z))
	if l == 0 {
		return None
	}
	return Rotation{r.W / l, r.X / l, r.Y / l, r.Z / l}
}

// A Pose is where a frame is, and how it is turned, within another.
type Pose struct {
	Position Vector
	Rotation Rotation
}

// Identity is the pose of a frame within itself.
var Identity = Pose{Rotation: None}

// Mul returns the pose q, which is given within p, in the frame of p.
func (p Pose) Mul(q Pose) Pose {
	return Pose{p.Apply(q.Position), p.Rotation.Mul(q.Rotation)}
}

// Apply returns where a point of the frame p is in the frame in which p is given.
func (p Pose) Apply(v Vector) Vector { return p.Position.Add(p.Rotation.Rotate(v)) }

// Inverse returns the outer frame within p.
func (p Pose) Inverse() Pose {
	back := p.Rotation.Inverse()
	return Pose{back.Rotate(p.Position).Scale(-1), back}
}
