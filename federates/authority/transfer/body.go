package transfer

// A Body is an entity that moves: a disc in a square, in whole micrometres, so that it moves alike on every processor and travels without loss.
type Body struct {
	X  int64 `json:"x"`  // micrometres from the left edge
	Y  int64 `json:"y"`  // micrometres from the lower edge
	VX int64 `json:"vx"` // micrometres a step
	VY int64 `json:"vy"`

	Side  int64 `json:"side"`            // of the square, in micrometres
	Slows bool  `json:"slows,omitempty"` // it loses 1/64 of its speed each step, and comes to rest
}

// rest is the speed, in micrometres a step, below which a body that slows stands still.
const rest = 64

// Moves reports whether a body is not at rest.
func (b *Body) Moves() bool { return b.VX != 0 || b.VY != 0 }

// step moves a body for one step.
func (b *Body) step() {
	b.X, b.VX = bounce(b.X+b.VX, b.VX, b.Side)
	b.Y, b.VY = bounce(b.Y+b.VY, b.VY, b.Side)
	if b.Slows {
		b.VX, b.VY = b.VX-b.VX/64, b.VY-b.VY/64
		if max(b.VX, -b.VX) < rest && max(b.VY, -b.VY) < rest {
			b.VX, b.VY = 0, 0
		}
	}
}

// bounce reflects a body that has left the square.
func bounce(x, v, side int64) (int64, int64) {
	switch {
	case x < 0:
		return min(-x, side), -v
	case x > side:
		return max(2*side-x, 0), -v
	}
	return x, v
}
