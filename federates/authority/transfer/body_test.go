package transfer

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// Steps that are done together are those done one by one, at walls and on them too; and a state that is behind for ever is brought up at once.
func TestIntegrateIsItsSteps(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		side := 1 + draw.Int64N(40)
		b := Body{X: draw.Int64N(side + 1), Y: draw.Int64N(side + 1), VX: draw.Int64N(2*side+1) - side, VY: draw.Int64N(2*side+1) - side, Side: side}
		require.True(t, b.Fits())
		together, n := b, atOnce+1+draw.Uint64N(200)
		together.advance(n)
		for range n {
			b.step()
		}
		require.Equal(t, b, together, "%d steps", n)
	}
	number, one := State{}, State{}
	for n := range metasim.Time(300) {
		one.Integrate(n, 1)
		number = State{}
		number.Integrate(n, 1)
		require.Equal(t, one, number)
	}
	for _, s := range []State{{}, {Body: &Body{X: 1, VX: 1, VY: maxSide, Side: maxSide}}, {Body: &Body{VX: maxSide, Side: maxSide, Slows: true}}} {
		s.Integrate(metasim.Forever-1, 1)
		require.EqualValues(t, metasim.Forever-1, s.Steps)
	}
	for _, b := range []Body{{}, {Side: -1}, {Side: maxSide + 1}, {Side: 9, X: 10}, {Side: 9, Y: -1}, {Side: 9, VX: -10}, {Side: 9, VY: 10}, {Side: 9, VX: -1 << 63}} {
		require.False(t, b.Fits(), "%+v", b)
	}
}
