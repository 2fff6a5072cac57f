package cartpole

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// energy is the plant's, kinetic and potential: derived from the Lagrangian, not from the equations that derivative
// uses.
func energy(s plantState) float64 {
	const inertia = 4.0 / 3 * poleMass * halfLength * halfLength
	kinetic := 0.5*totalMass*s.V*s.V + poleMass*halfLength*s.V*s.Rate*math.Cos(s.Angle) + 0.5*inertia*s.Rate*s.Rate
	return kinetic + poleMass*gravity*halfLength*math.Cos(s.Angle)
}

func TestWithoutForceEnergyIsKept(t *testing.T) {
	s := plantState{V: 0.3, Angle: 0.1, Rate: -0.2}
	before := energy(s)
	steps := 0
	for ; !s.Fallen(); steps++ {
		assert.InDelta(t, before, energy(s), 1e-9, "after %d steps", steps)
		s = s.Step(0, 1e-3)
	}
	assert.Greater(t, steps, 500, "the fall takes a while")
}

func TestAMirroredPlantMovesInTheMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := func(name string) float64 { return rapid.Float64Range(-1.5, 1.5).Draw(t, name) }
		s := plantState{X: x("x"), V: x("v"), Angle: x("angle"), Rate: x("rate")}
		force := x("force")
		right := s.Step(force, 1e-3)
		left := plantState{-s.X, -s.V, -s.Angle, -s.Rate}.Step(-force, 1e-3)
		assert.Equal(t, right, plantState{-left.X, -left.V, -left.Angle, -left.Rate})
	})
}

func TestAFallenPoleLies(t *testing.T) {
	s := plantState{V: 1, Angle: 1.57, Rate: 3}.Step(0, 1e-3)
	assert.True(t, s.Fallen())
	assert.Equal(t, plantState{X: s.X, Angle: math.Pi / 2}, s)
	assert.Equal(t, s, s.Step(100, 1e-3))
}

// These bits are the same on every processor and for ever: if they change, digests of runs change.
func TestBitsOfAThousandSteps(t *testing.T) {
	s := plantState{Angle: 0.1}
	rng := rand.NewPCG(1, 2)
	for range 1000 {
		m := measure(0, s, 0, 1, rng)
		s = s.Step(push(plantState{X: m.X, V: s.V, Angle: m.Angle, Rate: s.Rate}, 20), 1e-3)
	}
	bits := make([]uint64, 4)
	for i, x := range s.list() {
		bits[i] = math.Float64bits(x)
	}
	want := []uint64{0x3fc6725259054790, 0xbfa07c5f3507203c, 0xbf95e36463ab3a1e, 0x3fa498833613ea2f}
	assert.Equal(t, want, bits, "%v", s)
}

func TestNoiseIsNearlyNormal(t *testing.T) {
	rng := rand.NewPCG(1, 2)
	const n = 100_000
	var sum, squares, within float64
	for range n {
		x := normal(rng)
		sum += x
		squares += x * x
		if math.Abs(x) < 1 {
			within++
		}
	}
	assert.InDelta(t, 0, sum/n, 0.01)
	assert.InDelta(t, 1, squares/n, 0.02)
	assert.InDelta(t, 0.6827, within/n, 0.01)
}
