package spatial

// A Box is one along the axes. Its faces are part of it.
type Box struct{ Min, Max Vector }

// Around returns the box of a size around a point.
func Around(centre, size Vector) Box {
	half := size.Scale(0.5)
	return Box{centre.Sub(half), centre.Add(half)}
}

// Grown returns the box with so much more on each side.
func (b *Box) Grown(by float64) Box {
	more := Vector{by, by, by}
	return Box{b.Min.Sub(more), b.Max.Add(more)}
}

// Meets reports whether two boxes touch.
func (b *Box) Meets(c *Box) bool {
	return b.Min.X <= c.Max.X && c.Min.X <= b.Max.X && b.Min.Y <= c.Max.Y && c.Min.Y <= b.Max.Y && b.Min.Z <= c.Max.Z && c.Min.Z <= b.Max.Z
}

// Within reports whether no part of the box is outside of another.
func (b *Box) Within(c *Box) bool {
	return c.Min.X <= b.Min.X && b.Max.X <= c.Max.X && c.Min.Y <= b.Min.Y && b.Max.Y <= c.Max.Y && c.Min.Z <= b.Min.Z && b.Max.Z <= c.Max.Z
}

// Edge returns the longest edge.
func (b *Box) Edge() float64 {
	return max(b.Max.X-b.Min.X, b.Max.Y-b.Min.Y, b.Max.Z-b.Min.Z)
}
