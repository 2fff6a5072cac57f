package transfer

import "math/bits"

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

// maxSide is the longest side of a square, in micrometres: twice of it is a number.
const maxSide = 1 << 61

// Fits reports whether a body is in its square, and crosses it in no step.
func (b *Body) Fits() bool {
	return 0 < b.Side && b.Side <= maxSide && 0 <= b.X && b.X <= b.Side && 0 <= b.Y && b.Y <= b.Side && max(b.VX, -b.VX, b.VY, -b.VY) <= b.Side && min(b.VX, b.VY) >= -b.Side
}

// atOnce is how many steps are done one by one; more are done together where that is the same.
const atOnce = 100

// advance moves a body for so many steps. One that slows is at rest soon.
func (b *Body) advance(steps uint64) {
	if steps > atOnce && !b.Slows && b.Fits() {
		b.X, b.VX = reflect(b.X, b.VX, b.Side, steps)
		b.Y, b.VY = reflect(b.Y, b.VY, b.Side, steps)
		return
	}
	for ; steps > 0 && b.Moves(); steps-- {
		b.step()
	}
}

// reflect is so many times bounce, for a body that fits: it goes along a line of twice the side, whose second half is the way back.
func reflect(x, v, side int64, steps uint64) (int64, int64) {
	if v == 0 {
		return x, v
	}
	speed, length := uint64(max(v, -v)), uint64(2*side)
	at := uint64(x)
	if v < 0 {
		at = length - at
	}
	high, low := bits.Mul64(speed, steps)
	if at = (at%length + bits.Rem64(high, low, length)) % length; at == 0 {
		at = length // the way back ends here, and it turns with the next step
	}
	if at <= uint64(side) {
		return int64(at), int64(speed)
	}
	return int64(length - at), -int64(speed)
}

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
