package trig

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestSineAndCosineAreNearTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(-math.Pi, math.Pi).Draw(t, "angle")
		sin, cos := Sincos(a)
		assert.InDelta(t, math.Sin(a), sin, 3e-16)
		assert.InDelta(t, math.Cos(a), cos, 3e-16)
	})
	sin, cos := Sincos(0)
	assert.Equal(t, [2]float64{0, 1}, [2]float64{sin, cos})
}

// Whole turns more change little, as far as 2*math.Pi is a whole turn.
func TestGreatAnglesAreBroughtBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(-1000, 1000).Draw(t, "angle")
		sin, cos := Sincos(a)
		assert.InDelta(t, math.Sin(a), sin, 1e-13)
		assert.InDelta(t, math.Cos(a), cos, 1e-13)
	})
}
