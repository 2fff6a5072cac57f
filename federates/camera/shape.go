package camera

import (
	"math"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// A ray goes from a point in a direction of length 1.
type ray struct{ from, toward spatial.Vector }

func (r ray) at(t float64) spatial.Vector { return r.from.Add(r.toward.Scale(t)) }

// A body is a solid at its place in the world.
type body struct {
	*solid
	pose   spatial.Pose
	back   spatial.Rotation // from the world to the frame of the body
	x, y   spatial.Vector   // of a plane: its edges, in the world
	normal spatial.Vector   // of a plane, in the world
	radius float64          // of a sphere around it; infinite for a plane
}

func newBody(s *solid, link spatial.Pose) body {
	b := body{solid: s, pose: link.Mul(s.offset)}
	b.back = b.pose.Rotation.Inverse()
	g := s.geometry
	switch g.Shape {
	case sdf.Sphere:
		b.radius = g.Radius
	case sdf.Box:
		b.radius = g.Size.Length() / 2
	case sdf.Cylinder:
		b.radius = math.Sqrt(float64(g.Radius*g.Radius) + float64(float64(g.Length*g.Length)/4))
	case sdf.Plane:
		b.radius = math.Inf(1)
		b.normal = b.pose.Rotation.Rotate(g.Normal)
		across := spatial.Vector{Y: 1}
		if math.Abs(g.Normal.Y) > 0.9 {
			across = spatial.Vector{X: -1}
		}
		x := across.Cross(g.Normal).Unit()
		b.x, b.y = b.pose.Rotation.Rotate(x), b.pose.Rotation.Rotate(g.Normal.Cross(x))
	}
	return b
}

// A hit is where a ray meets a body: how far away, and the direction that the surface faces.
type hit struct {
	distance float64
	normal   spatial.Vector
	body     *body
}

// near is how far beyond its beginning a ray may meet something, so that a surface does not shade itself.
const near = 1e-6

// meet returns the nearest hit beyond a distance, if there is one.
func (b *body) meet(r ray, beyond float64) (hit, bool) {
	if b.geometry.Shape == sdf.Sphere {
		return b.sphere(r, beyond)
	}
	if b.geometry.Shape == sdf.Plane {
		return b.plane(r, beyond)
	}
	local := ray{b.back.Rotate(r.from.Sub(b.pose.Position)), b.back.Rotate(r.toward)}
	h, ok := hit{}, false
	if b.geometry.Shape == sdf.Box {
		h, ok = box(local, b.geometry.Size.Scale(0.5), beyond)
	} else {
		h, ok = cylinder(local, b.geometry.Radius, b.geometry.Length/2, beyond)
	}
	h.body, h.normal = b, b.pose.Rotation.Rotate(h.normal)
	return h, ok
}

func (b *body) sphere(r ray, beyond float64) (hit, bool) {
	from := r.from.Sub(b.pose.Position)
	half := from.Dot(r.toward)
	root := float64(half*half) - (from.Dot(from) - float64(b.radius*b.radius))
	if root < 0 {
		return hit{}, false
	}
	root = math.Sqrt(root)
	t := -half - root
	if t <= beyond {
		t = -half + root
	}
	if t <= beyond {
		return hit{}, false
	}
	return hit{t, from.Add(r.toward.Scale(t)).Unit(), b}, true
}

// plane meets a plane from either side.
func (b *body) plane(r ray, beyond float64) (hit, bool) {
	slope := r.toward.Dot(b.normal)
	if slope == 0 {
		return hit{}, false
	}
	t := b.pose.Position.Sub(r.from).Dot(b.normal) / slope
	if t <= beyond {
		return hit{}, false
	}
	on := r.at(t).Sub(b.pose.Position)
	if math.Abs(on.Dot(b.x)) > b.geometry.Size.X/2 || math.Abs(on.Dot(b.y)) > b.geometry.Size.Y/2 {
		return hit{}, false
	}
	normal := b.normal
	if slope > 0 {
		normal = normal.Scale(-1)
	}
	return hit{t, normal, b}, true
}

// A span is the part of a ray that lies within something, and the way the surface faces at both ends.
type span struct {
	in, out             float64
	inNormal, outNormal spatial.Vector
}

// clip keeps the part of a span between two parallel faces at -half and half. The ray is at `from` and moves by `toward` along the axis.
func (s *span) clip(from, toward, half float64, axis spatial.Vector) bool {
	if toward == 0 {
		return math.Abs(from) <= half
	}
	first, last, normal := (-half-from)/toward, (half-from)/toward, axis.Scale(-1)
	if toward < 0 {
		first, last, normal = last, first, axis
	}
	if first > s.in {
		s.in, s.inNormal = first, normal
	}
	if last < s.out {
		s.out, s.outNormal = last, normal.Scale(-1)
	}
	return s.in <= s.out
}

// nearest returns the first end of a span beyond a distance.
func (s *span) nearest(beyond float64) (hit, bool) {
	switch {
	case s.in > beyond:
		return hit{distance: s.in, normal: s.inNormal}, true
	case s.out > beyond && !math.IsInf(s.out, 1):
		return hit{distance: s.out, normal: s.outNormal}, true
	}
	return hit{}, false
}

func everywhere() span { return span{in: math.Inf(-1), out: math.Inf(1)} }

func box(r ray, half spatial.Vector, beyond float64) (hit, bool) {
	s := everywhere()
	inside := s.clip(r.from.X, r.toward.X, half.X, spatial.Vector{X: 1}) &&
		s.clip(r.from.Y, r.toward.Y, half.Y, spatial.Vector{Y: 1}) &&
		s.clip(r.from.Z, r.toward.Z, half.Z, spatial.Vector{Z: 1})
	if !inside {
		return hit{}, false
	}
	return s.nearest(beyond)
}

// cylinder stands along Z.
func cylinder(r ray, radius, half, beyond float64) (hit, bool) {
	s := everywhere()
	if !s.clip(r.from.Z, r.toward.Z, half, spatial.Vector{Z: 1}) {
		return hit{}, false
	}
	a := float64(r.toward.X*r.toward.X) + float64(r.toward.Y*r.toward.Y)
	b := float64(r.from.X*r.toward.X) + float64(r.from.Y*r.toward.Y)
	c := float64(r.from.X*r.from.X) + float64(r.from.Y*r.from.Y) - float64(radius*radius)
	if a == 0 {
		if c > 0 {
			return hit{}, false
		}
		return s.nearest(beyond)
	}
	root := float64(b*b) - float64(a*c)
	if root < 0 {
		return hit{}, false
	}
	root = math.Sqrt(root)
	side := func(t float64) spatial.Vector {
		on := r.at(t)
		return spatial.Vector{X: on.X / radius, Y: on.Y / radius}
	}
	if in := (-b - root) / a; in > s.in {
		s.in, s.inNormal = in, side(in)
	}
	if out := (-b + root) / a; out < s.out {
		s.out, s.outNormal = out, side(out)
	}
	if s.in > s.out {
		return hit{}, false
	}
	return s.nearest(beyond)
}
