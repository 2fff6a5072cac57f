package world

import (
	"cmp"
	"math"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
)

// obstacle returns the body of a static model: nothing moves it.
func obstacle(model ecm.Entity, pose spatial.Pose) *body {
	return &body{entity: model, pose: pose, centre: pose.Position, mass: Mass{Mass: math.Inf(1)}, fixed: true}
}

// A reach is the space that a body may touch in a step.
type reach struct {
	spatial.Box
	body  *body
	index int
}

// radius is that of a sphere about the centre of mass in which all shapes are, however the body turns.
func (b *body) radius() (radius float64) {
	for i := range b.shapes {
		s := &b.shapes[i]
		radius = math.Max(radius, s.pose.Position.Sub(b.mass.Centre).Length()+s.extent())
	}
	return radius
}

// within returns where a body may be within a time that moves, given its radius.
func (b *body) within(radius, dt float64) spatial.Box {
	radius += float64(b.ahead.Length() * dt)
	around := spatial.Vector{X: radius, Y: radius, Z: radius}
	return spatial.Box{Min: b.centre.Sub(around), Max: b.centre.Add(around)}
}

// space returns where a body is that does not move.
func (b *body) space() (space spatial.Box) {
	inf := math.Inf(1)
	space.Min, space.Max = spatial.Vector{X: inf, Y: inf, Z: inf}, spatial.Vector{X: -inf, Y: -inf, Z: -inf}
	for i := range b.shapes {
		s := &b.shapes[i]
		pose := b.pose.Mul(s.pose)
		around := spatial.Vector{X: s.Radius, Y: s.Radius, Z: s.Radius}
		if s.Kind == Box {
			x, y, z := pose.Rotation.Rotate(spatial.Vector{X: s.Size.X / 2}), pose.Rotation.Rotate(spatial.Vector{Y: s.Size.Y / 2}), pose.Rotation.Rotate(spatial.Vector{Z: s.Size.Z / 2})
			around = spatial.Vector{X: math.Abs(x.X) + math.Abs(y.X) + math.Abs(z.X), Y: math.Abs(x.Y) + math.Abs(y.Y) + math.Abs(z.Y), Z: math.Abs(x.Z) + math.Abs(y.Z) + math.Abs(z.Z)}
		}
		low, high := pose.Position.Sub(around), pose.Position.Add(around)
		space.Min = spatial.Vector{X: math.Min(space.Min.X, low.X), Y: math.Min(space.Min.Y, low.Y), Z: math.Min(space.Min.Z, low.Z)}
		space.Max = spatial.Vector{X: math.Max(space.Max.X, high.X), Y: math.Max(space.Max.Y, high.Y), Z: math.Max(space.Max.Z, high.Z)}
	}
	return space
}

// reachOf returns where a body may be within a time.
func (b *body) reachOf(dt float64) spatial.Box {
	if b.fixed {
		return b.space()
	}
	return b.within(b.radius(), dt)
}

// extent is the radius of a sphere around a shape.
func (s *shape) extent() float64 {
	if s.Kind == Box {
		return float64(s.Size.Length() / 2)
	}
	return s.Radius
}

// meetings returns where bodies may meet one another in a step: by pair, in the order of the bodies.
func meetings(bodies []*body, dt float64) (all []touch) {
	reaches := make([]reach, 0, len(bodies))
	for i, b := range bodies {
		if len(b.shapes) > 0 {
			reaches = append(reaches, reach{b.reachOf(dt), b, i})
		}
	}
	slices.SortFunc(reaches, func(a, b reach) int { return cmp.Or(cmp.Compare(a.Min.X, b.Min.X), cmp.Compare(a.index, b.index)) })
	var pairs [][2]int
	for i := range reaches {
		for j := i + 1; j < len(reaches) && reaches[j].Min.X <= reaches[i].Max.X; j++ {
			if a, b := &reaches[i], &reaches[j]; !(a.body.fixed && b.body.fixed) && a.Meets(&b.Box) {
				pairs = append(pairs, [2]int{min(a.index, b.index), max(a.index, b.index)})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, p := range pairs {
		a, b := bodies[p[0]], bodies[p[1]]
		first := len(all)
		for i := range a.shapes {
			for j := range b.shapes {
				all = append(all, between(a, b, &a.shapes[i], &b.shapes[j], dt)...)
			}
		}
		share(all[first:])
	}
	return all
}

// between returns where two shapes may meet in a step: spheres with spheres and boxes, and the corners and edges of boxes with boxes.
func between(a, b *body, s, q *shape, dt float64) (all []touch) {
	add := func(t touch, ok bool) {
		if ok {
			all = append(all, t)
		}
	}
	switch at, on := a.pose.Mul(s.pose), b.pose.Mul(q.pose); {
	case s.Kind == Sphere && q.Kind == Sphere:
		add(spheres(a, b, s, q, at.Position, on.Position, dt))
	case s.Kind == Sphere && q.Kind == Box:
		add(pointOnBox(a, b, s, q, at.Position, s.Radius, on, dt))
	case s.Kind == Box && q.Kind == Sphere:
		add(pointOnBox(b, a, q, s, on.Position, q.Radius, at, dt))
	case s.Kind == Box && q.Kind == Box:
		for _, corner := range s.corners(at) {
			add(pointOnBox(a, b, s, q, corner, 0, on, dt))
		}
		for _, corner := range q.corners(on) {
			add(pointOnBox(b, a, q, s, corner, 0, at, dt))
		}
		all = append(all, edges(a, b, s, q, at, on, all, dt)...)
	}
	return all
}

// edges returns where edges of two boxes may meet in a step, beside the corners that do.
func edges(a, b *body, s, q *shape, at, on spatial.Pose, corners []touch, dt float64) (all []touch) {
	c, d := cuboidOf(s, at), cuboidOf(q, on)
	normal, pairs := c.crossings(&d)
	for _, p := range pairs {
		if known(corners, a, p[0], normal, c.extent(normal)+d.extent(normal)) {
			continue
		}
		distance := p[0].Sub(p[1]).Dot(normal)
		t := newTouch(a, b, s, q, normal, p[0], p[1], distance, dt)
		if distance <= float64(t.speed(a.ahead, b.ahead).Length()*dt) {
			all = append(all, t)
		}
	}
	return all
}

// known reports whether a corner carries a body at a point already, or nearly there, given the size of what meets.
func known(corners []touch, a *body, point, normal spatial.Vector, size float64) bool {
	for i := range corners {
		t := &corners[i]
		along, from := t.normal.Dot(normal), t.body.centre.Add(t.at).Sub(point)
		if t.body != a {
			along = -along
		}
		if along > 0.9 && from.Length() < float64(size/100) {
			return true
		}
	}
	return false
}

// spheres returns where two spheres touch when they meet, if they may meet in this step.
func spheres(a, b *body, s, q *shape, at, on spatial.Vector, dt float64) (touch, bool) {
	apart, sum := at.Sub(on), s.Radius+q.Radius
	speed := a.ahead.Sub(b.ahead)
	if apart.Length()-sum > float64(speed.Length()*dt) {
		return touch{}, false
	}
	// |apart + speed t| = sum, where they have not met before.
	square, half := speed.Dot(speed), apart.Dot(speed)
	root := float64(half*half) - float64(square*(apart.Dot(apart)-float64(sum*sum)))
	way := apart
	if root > 0 && half < 0 && apart.Dot(apart) > float64(sum*sum) {
		if t := (-half - math.Sqrt(root)) / square; t <= dt {
			way = apart.Add(speed.Scale(t))
		}
	}
	normal := way.Unit()
	if way == (spatial.Vector{}) {
		normal = spatial.Vector{Z: 1}
	}
	return newTouch(a, b, s, q, normal, normal.Scale(-s.Radius).Add(at), normal.Scale(q.Radius).Add(on), apart.Dot(normal)-sum, dt), true
}

// pointOnBox returns where a point with a radius touches a box, if it may in this step.
func pointOnBox(a, b *body, s, q *shape, point spatial.Vector, radius float64, box spatial.Pose, dt float64) (touch, bool) {
	half := q.Size.Scale(0.5)
	local := box.Rotation.Inverse().Rotate(point.Sub(box.Position))
	clamped := spatial.Vector{X: math.Max(-half.X, math.Min(local.X, half.X)), Y: math.Max(-half.Y, math.Min(local.Y, half.Y)), Z: math.Max(-half.Z, math.Min(local.Z, half.Z))}
	out := local.Sub(clamped)
	distance := out.Length()
	normal := out.Unit()
	if distance == 0 { // inside: it comes out at the nearest face
		depths := [3]float64{half.X - math.Abs(local.X), half.Y - math.Abs(local.Y), half.Z - math.Abs(local.Z)}
		switch least := math.Min(depths[0], math.Min(depths[1], depths[2])); least {
		case depths[2]:
			normal, distance = spatial.Vector{Z: math.Copysign(1, local.Z)}, -least
		case depths[1]:
			normal, distance = spatial.Vector{Y: math.Copysign(1, local.Y)}, -least
		default:
			normal, distance = spatial.Vector{X: math.Copysign(1, local.X)}, -least
		}
		clamped = local.Sub(normal.Scale(distance))
	}
	normal = box.Rotation.Rotate(normal)
	t := newTouch(a, b, s, q, normal, normal.Scale(-radius).Add(point), box.Apply(clamped), distance-radius, dt)
	return t, distance-radius <= float64(t.speed(a.ahead, b.ahead).Length()*dt)
}

// newTouch returns a contact of two bodies at two points in the world that are a distance apart along the normal, which goes from b to a.
func newTouch(a, b *body, s, q *shape, normal, at, on spatial.Vector, distance, dt float64) touch {
	t := touch{body: a, other: b, normal: normal, at: at.Sub(a.centre), on: on.Sub(b.centre), friction: math.Min(s.friction, q.friction)}
	t.resistance = t.against(normal)
	t.depth = math.Max(-distance, 0)
	t.least = math.Min(-distance/dt, 0)
	pull := math.Max(-a.a.Sub(b.a).Dot(normal), 0)
	if bounce := -float64(float64(s.restitution*q.restitution) * t.speed(a.v, b.v).Dot(normal)); bounce > 2*float64(pull*dt) {
		t.least = bounce
	}
	return t
}

// An island is bodies that meet one another, over others if need be, and the contacts between them.
type island struct {
	bodies  []*body
	touches []touch
}

// islands returns the islands that contacts make, in the order of their first bodies. Fixed bodies join none.
func islands(bodies []*body, touches []touch) []*island {
	joined := map[*body]*body{}
	var root func(b *body) *body
	root = func(b *body) *body {
		if up := joined[b]; up != b {
			joined[b] = root(up)
		}
		return joined[b]
	}
	for i := range touches {
		t := &touches[i]
		for _, b := range []*body{t.body, t.other} {
			if joined[b] == nil {
				joined[b] = b
			}
		}
		if !t.body.fixed && !t.other.fixed {
			joined[root(t.body)] = root(t.other)
		}
	}
	var all []*island
	of := map[*body]*island{}
	for _, b := range bodies {
		if joined[b] == nil || b.fixed {
			continue
		}
		r := root(b)
		if of[r] == nil {
			of[r] = &island{}
			all = append(all, of[r])
		}
		of[r].bodies = append(of[r].bodies, b)
	}
	for _, t := range touches {
		b := t.body
		if b.fixed {
			b = t.other
		}
		into := of[root(b)]
		into.touches = append(into.touches, t)
	}
	return all
}

// step moves the bodies of an island by a step.
func (l *island) step(planes []plane, dt float64) {
	var all []touch
	for _, b := range l.bodies {
		all = b.onPlanes(all, planes, dt)
	}
	together(l.bodies, append(all, l.touches...), dt)
}
