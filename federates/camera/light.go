package camera

import (
	"math"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// A source is a lamp at its place, with those bodies that may shade it.
type source struct {
	light     *sdf.Light
	at        spatial.Vector
	toward    spatial.Vector // where the light goes, of length 1
	casters   []*body
	grid      grid
	isSun     bool
	isShading bool
}

// gridSide is the number of cells of a grid, in each direction.
const gridSide = 64

// A grid sorts bodies by where they are as the sun sees them: only those of its own cell can shade a point.
type grid struct {
	x, y         spatial.Vector // across the light
	left, bottom float64
	cell         float64
	cells        [][]*body
}

func newSource(l lamp, links []spatial.Pose, bodies []body, shadows bool) source {
	pose := l.light.Pose
	if l.link >= 0 {
		pose = links[l.link].Mul(pose)
	}
	s := source{
		light: l.light, at: pose.Position, toward: pose.Rotation.Rotate(l.light.Direction), isSun: l.light.Type == "directional",
		isShading: shadows && l.light.CastShadows,
	}
	for i := range bodies {
		if b := &bodies[i]; s.isShading && b.casts && !math.IsInf(b.radius, 1) {
			s.casters = append(s.casters, b)
		}
	}
	if s.isSun {
		s.grid = newGrid(s.toward, s.casters)
	}
	return s
}

func newGrid(toward spatial.Vector, bodies []*body) grid {
	across := spatial.Vector{X: 1}
	if math.Abs(toward.X) > 0.9 {
		across = spatial.Vector{Y: 1}
	}
	g := grid{x: across.Cross(toward).Unit()}
	g.y = toward.Cross(g.x)
	if len(bodies) == 0 {
		return g
	}
	g.left, g.bottom = math.Inf(1), math.Inf(1)
	right, top := math.Inf(-1), math.Inf(-1)
	for _, b := range bodies {
		x, y := b.pose.Position.Dot(g.x), b.pose.Position.Dot(g.y)
		g.left, right = min(g.left, x-b.radius), max(right, x+b.radius)
		g.bottom, top = min(g.bottom, y-b.radius), max(top, y+b.radius)
	}
	g.cell = max(right-g.left, top-g.bottom) / gridSide
	g.cells = make([][]*body, gridSide*gridSide)
	for _, b := range bodies {
		x, y := b.pose.Position.Dot(g.x), b.pose.Position.Dot(g.y)
		for row := g.index(y - b.radius - g.bottom); row <= g.index(y+b.radius-g.bottom); row++ {
			for column := g.index(x - b.radius - g.left); column <= g.index(x+b.radius-g.left); column++ {
				g.cells[row*gridSide+column] = append(g.cells[row*gridSide+column], b)
			}
		}
	}
	return g
}

// index returns the cell of a distance from the edge; one beyond the grid is brought to its border.
func (g *grid) index(distance float64) int {
	i := distance / g.cell
	switch {
	case i >= gridSide-1:
		return gridSide - 1
	case i > 0:
		return int(i)
	}
	return 0 // also for what is no number
}

// near returns the bodies that may be between a point and the sun.
func (g *grid) near(p spatial.Vector) []*body {
	x, y := p.Dot(g.x)-g.left, p.Dot(g.y)-g.bottom
	width := float64(gridSide * g.cell)
	if g.cells == nil || x < 0 || y < 0 || x > width || y > width {
		return nil
	}
	return g.cells[g.index(y)*gridSide+g.index(x)]
}

// shines returns how much of a source's light comes to a point, from 0 to 1, and the direction to the source.
func (s *source) shines(p, normal spatial.Vector) (float64, spatial.Vector) {
	to, distance, strength := s.toward.Scale(-1), math.Inf(1), 1.0
	if !s.isSun {
		way := s.at.Sub(p)
		distance = way.Length()
		if distance == 0 || distance > s.light.Range {
			return 0, to
		}
		to = way.Scale(1 / distance)
		fade := s.light.Constant + float64(s.light.Linear*distance) + float64(s.light.Quadratic*float64(distance*distance))
		if fade > 1 {
			strength = 1 / fade
		}
		if s.light.Type == "spot" && to.Dot(s.toward) > -0.8 { // an opening of 37 degrees to each side
			return 0, to
		}
	}
	if normal.Dot(to) <= 0 {
		return 0, to
	}
	if s.isShading && s.shaded(ray{p.Add(normal.Scale(near)), to}, distance) {
		return 0, to
	}
	return strength, to
}

func (s *source) shaded(r ray, distance float64) bool {
	casters := s.casters
	if s.isSun {
		casters = s.grid.near(r.from)
	}
	for _, b := range casters {
		if h, ok := b.meet(r, near); ok && h.distance < distance {
			return true
		}
	}
	return false
}
