package world

import (
	"math"

	"metasim/federates/spatial"
)

// sphere returns the only shape of a body, if that is a sphere about its centre of mass.
func (b *body) sphere() *shape {
	if len(b.shapes) != 1 || b.shapes[0].Kind != Sphere || b.shapes[0].pose.Position != b.mass.Centre {
		return nil
	}
	return &b.shapes[0]
}

// maxBounces is how often a sphere bounces in one step; after that it lies.
const maxBounces = 8

// flySphere moves a sphere along its parabola, from bounce to bounce. A semi-implicit step moves a body from point to point of the
// parabola on which its velocity is v + a dt/2; on it the instant of an impact is exact, so that a ball that loses nothing comes up
// to where it fell from.
func (b *body) flySphere(s *shape, planes []plane, dt float64) {
	b.v = b.v.Add(b.a.Scale(dt / 2))
	left, a := dt, b.a
	lies := make([]bool, len(planes))
	for bounces := 0; ; bounces++ {
		at, hit := left, -1
		for i := range planes {
			if t, ok := b.impact(s, &planes[i], a, left); ok && !lies[i] && (t < at || hit < 0 && t <= at) {
				at, hit = t, i
			}
		}
		b.fly(a, at)
		left -= at
		if hit < 0 {
			break
		}
		p := &planes[hit]
		fall, pull := -b.v.Dot(p.normal), -a.Dot(p.normal)
		bounce := float64(s.restitution * p.restitution)
		if rest := 2 * math.Abs(float64(pull*dt)); float64(fall*bounce) <= rest || bounces >= maxBounces {
			lies[hit] = true
			b.v = b.v.Add(p.normal.Scale(math.Max(fall, 0)))
			a = a.Add(p.normal.Scale(math.Max(pull, 0)))
			b.rub(p.normal, p.normal.Scale(-s.Radius), float64(friction(s, p)*float64(b.mass.Mass*math.Max(fall, 0))))
			continue
		}
		impulse := float64(b.mass.Mass * float64((1+bounce)*fall))
		b.v = b.v.Add(p.normal.Scale(float64((1 + bounce) * fall)))
		b.rub(p.normal, p.normal.Scale(-s.Radius), float64(friction(s, p)*impulse))
	}
	for i := range planes {
		p := &planes[i]
		if lies[i] {
			press := float64(b.mass.Mass * float64(math.Max(-b.a.Dot(p.normal), 0)*dt))
			b.rub(p.normal, p.normal.Scale(-s.Radius), float64(friction(s, p)*press))
		}
		if depth := -b.distance(s, p); depth > 0 {
			b.centre = b.centre.Add(p.normal.Scale(depth))
		}
	}
	b.v = b.v.Sub(a.Scale(dt / 2))
}

func friction(s *shape, p *plane) float64 { return math.Min(s.friction, p.friction) }

// distance is that of a sphere from a plane.
func (b *body) distance(s *shape, p *plane) float64 {
	return b.centre.Sub(p.point).Dot(p.normal) - s.Radius
}

// fly moves the centre for a time under an acceleration.
func (b *body) fly(a spatial.Vector, t float64) {
	b.centre = b.centre.Add(b.v.Scale(t)).Add(a.Scale(float64(t*t) / 2))
	b.v = b.v.Add(a.Scale(t))
}

// impact returns when a sphere meets a plane on its parabola, if it does within a time.
func (b *body) impact(s *shape, p *plane, a spatial.Vector, within float64) (float64, bool) {
	d, fall, pull := b.distance(s, p), -b.v.Dot(p.normal), -a.Dot(p.normal)
	if d <= 0 { // it touches: it hits if it goes on into the plane, or would at once
		return 0, fall > 0 || fall >= -float64(pull*within) && pull > 0
	}
	// d = fall t + pull t^2 / 2
	root := float64(fall*fall) + 2*float64(pull*d)
	if root < 0 {
		return 0, false
	}
	below := fall + math.Sqrt(root)
	if below <= 0 {
		return 0, false
	}
	t := 2 * d / below // of the two forms of the solution the one that does not divide by a pull of zero
	return t, t <= within
}

// onPlanes adds the points of a body that meet a plane in this step.
func (b *body) onPlanes(all []touch, planes []plane, dt float64) []touch {
	for i := range b.shapes {
		for j := range planes {
			all = b.touches(all, &b.shapes[i], &planes[j], dt)
		}
	}
	return all
}

// touches adds the points of a shape that meet a plane in this step.
func (b *body) touches(all []touch, s *shape, p *plane, dt float64) []touch {
	pull := math.Max(-b.a.Dot(p.normal), 0)
	rest := 2 * float64(pull*dt)
	first := len(all)
	for _, point := range b.points(s, p) {
		at := point.Sub(b.centre)
		d := point.Sub(p.point).Dot(p.normal)
		t := touch{body: b, normal: p.normal, at: at, friction: friction(s, p), least: math.Min(-d/dt, 0), depth: math.Max(-d, 0)}
		speed := t.speed(b.ahead, spatial.Vector{}).Dot(p.normal)
		if d+float64(speed*dt) > 0 {
			continue
		}
		t.resistance = t.against(p.normal)
		// What comes back is of the speed before this step's forces: it would have more energy than what came, of the speed after them.
		if bounce := -float64(float64(s.restitution*p.restitution) * t.slip().Dot(p.normal)); bounce > rest {
			t.least = math.Max(t.least, bounce)
		}
		all = append(all, t)
	}
	share(all[first:])
	return all
}

// points returns the points of a shape that may touch a plane, in the world.
func (b *body) points(s *shape, p *plane) []spatial.Vector {
	pose := b.pose.Mul(s.pose)
	switch s.Kind {
	case Sphere:
		return []spatial.Vector{pose.Position.Sub(p.normal.Scale(s.Radius))}
	case Box:
		return s.corners(pose)
	}
	return nil
}

// corners returns the corners of a box.
func (s *shape) corners(pose spatial.Pose) (points []spatial.Vector) {
	half := s.Size.Scale(0.5)
	for corner := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(corner>>bit&1)) }
		points = append(points, pose.Apply(spatial.Vector{X: float64(sign(0) * half.X), Y: float64(sign(1) * half.Y), Z: float64(sign(2) * half.Z)}))
	}
	return points
}
