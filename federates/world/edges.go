package world

import (
	"math"

	"metasim/federates/spatial"
)

// Edges that are nearer to parallel than this, as the sine of the angle between them, do not cross: their ends carry them.
const parallel = 0.05

// A cuboid is a box in the world.
type cuboid struct {
	centre spatial.Vector
	axes   [3]spatial.Vector
	half   [3]float64
}

func cuboidOf(s *shape, pose spatial.Pose) cuboid {
	r := pose.Rotation
	return cuboid{pose.Position, [3]spatial.Vector{r.Rotate(spatial.Vector{X: 1}), r.Rotate(spatial.Vector{Y: 1}), r.Rotate(spatial.Vector{Z: 1})},
		[3]float64{s.Size.X / 2, s.Size.Y / 2, s.Size.Z / 2}}
}

// extent is how far the box goes from its centre in a direction.
func (c *cuboid) extent(n spatial.Vector) float64 {
	return float64(math.Abs(c.axes[0].Dot(n))*c.half[0]) + float64(math.Abs(c.axes[1].Dot(n))*c.half[1]) + float64(math.Abs(c.axes[2].Dot(n))*c.half[2])
}

// apart returns the direction from d to c in which two boxes are furthest apart, or least inside one another: that of a face of one, or across an edge of
// each, by the theorem of separating axes.
func (c *cuboid) apart(d *cuboid) (normal spatial.Vector) {
	way, widest := c.centre.Sub(d.centre), math.Inf(-1)
	try := func(n spatial.Vector, less float64) {
		along := n.Dot(way)
		if along < 0 {
			n, along = n.Scale(-1), -along
		}
		if gap := along - c.extent(n) - d.extent(n) - less; gap > widest {
			normal, widest = n, gap
		}
	}
	for i := range 3 {
		try(c.axes[i], 0)
		try(d.axes[i], 0)
	}
	less := math.Min(min(c.half[0], c.half[1], c.half[2]), min(d.half[0], d.half[1], d.half[2])) / 1000 // where both are as good, a face it is
	for i := range 3 {
		for j := range 3 {
			if n := c.axes[i].Cross(d.axes[j]); n.Length() > parallel {
				try(n.Unit(), less)
			}
		}
	}
	return normal
}

// face returns the four corners of one face of a box, in their order around the face. It is the face whose outward normal is nearest to the
// given direction.
func (c *cuboid) face(n spatial.Vector) [4]spatial.Vector {
	k, most := 0, -1.0
	for i := range 3 {
		if along := math.Abs(c.axes[i].Dot(n)); along > most {
			k, most = i, along
		}
	}
	middle := c.centre.Add(c.axes[k].Scale(math.Copysign(c.half[k], c.axes[k].Dot(n))))
	i, j := (k+1)%3, (k+2)%3
	u, v := c.axes[i].Scale(c.half[i]), c.axes[j].Scale(c.half[j])
	return [4]spatial.Vector{middle.Add(u).Add(v), middle.Add(u).Sub(v), middle.Sub(u).Sub(v), middle.Sub(u).Add(v)}
}

// crossing returns the points of two edges that are behind one another, seen along a normal.
func crossing(p, p1, q, q1, normal spatial.Vector) (at, on spatial.Vector, crosses bool) {
	s, t, way := p1.Sub(p), q1.Sub(q), q.Sub(p)
	turn := normal.Dot(s.Cross(t))
	if math.Abs(turn) <= float64(parallel*float64(s.Length()*t.Length())) {
		return at, on, false
	}
	u, v := normal.Dot(way.Cross(t))/turn, normal.Dot(way.Cross(s))/turn
	return p.Add(s.Scale(u)), q.Add(t.Scale(v)), u >= 0 && u <= 1 && v >= 0 && v <= 1
}

// crossings returns where edges of two boxes are behind one another, seen along the direction from d to c in which the boxes are furthest apart: pairs of points,
// of c and of d.
func (c *cuboid) crossings(d *cuboid) (normal spatial.Vector, pairs [][2]spatial.Vector) {
	normal = c.apart(d)
	faceC, faceD := c.face(normal.Scale(-1)), d.face(normal)
	for i := range 4 {
		for j := range 4 {
			if at, on, crosses := crossing(faceC[i], faceC[(i+1)%4], faceD[j], faceD[(j+1)%4], normal); crosses {
				pairs = append(pairs, [2]spatial.Vector{at, on})
			}
		}
	}
	return normal, pairs
}
