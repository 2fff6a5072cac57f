package sdf

import (
	"slices"

	"metasim/federates/spatial"
)

// withinLink reads the pose of what a link holds. Frames beside the link are not looked up: no world here uses them.
func (b builder) withinLink(n *node) spatial.Pose {
	pose, relativeTo := n.pose()
	if relativeTo != "" {
		b.warn(n.child("pose").Place, "the pose of <%s> is taken as relative to its link, not to %q; write it relative to the link", n.Name, relativeTo)
	}
	return pose
}

// unread are shapes that SDF has and that neither bounce nor are seen here.
var unread = []string{"capsule", "ellipsoid", "heightmap", "image", "mesh", "polyline", "cone"}

// geometry reads the shape of a collision or a visual.
func (b builder) geometry(holder *node) Geometry {
	n := holder.child("geometry")
	if n == nil || len(n.children) == 0 {
		b.warn(holder.Place, "<%s> has no shape, so it is ignored; add a <geometry> with one", holder.Name)
		return Geometry{Place: holder.Place, Shape: Empty}
	}
	for _, c := range n.children {
		g := Geometry{Place: c.Place, Shape: Shape(c.Name)}
		solid := true
		switch {
		case g.Shape == Sphere:
			g.Radius, solid = b.positive(c, "radius", 1)
		case g.Shape == Cylinder:
			g.Radius, solid = b.positive(c, "radius", 1)
			if solid {
				g.Length, solid = b.positive(c, "length", 1)
			}
		case g.Shape == Box:
			g.Size = c.vector("size", spatial.Vector{X: 1, Y: 1, Z: 1})
			solid = b.solid(c, g.Size, 3)
		case g.Shape == Plane:
			solid = b.plane(c, &g)
		case g.Shape == Empty:
		case slices.Contains(unread, c.Name):
			b.warn(c.Place, "<%s> is not read, so this <%s> neither bounces nor is seen; use a box, a sphere, a cylinder or a plane", c.Name, holder.Name)
			g.Shape = Other
		default:
			continue // conform has warned
		}
		if !solid {
			g.Shape = Empty
		}
		return g
	}
	return Geometry{Place: n.Place, Shape: Empty}
}

// solid reports whether the first edges of a size are all above 0, and warns if not.
func (b builder) solid(n *node, size spatial.Vector, edges int) bool {
	for _, edge := range []float64{size.X, size.Y, size.Z}[:edges] {
		if edge <= 0 {
			b.warn(n.child("size").Place, "an edge of this <%s> is %g, so it is ignored; write numbers above 0", n.Name, edge)
			return false
		}
	}
	return true
}

func (b builder) plane(n *node, g *Geometry) bool {
	g.Size = spatial.Vector{X: 1, Y: 1}
	if list := numbers(n.text("size", ""), 2); len(list) == 2 {
		g.Size = spatial.Vector{X: list[0], Y: list[1]}
	}
	up := spatial.Vector{Z: 1}
	if g.Normal = n.vector("normal", up); g.Normal.Length() == 0 {
		b.warn(n.child("normal").Place, "<normal> has no length, so 0 0 1 counts; write the direction that the plane faces")
		g.Normal = up
	}
	g.Normal = g.Normal.Unit()
	return b.solid(n, g.Size, 2)
}
