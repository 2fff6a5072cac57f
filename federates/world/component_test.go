package world

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A camera that a system writes makes a picture, or is refused: a picture of 10^18 pixels would end the process.
func TestCamerasAreChecked(t *testing.T) {
	good := []float64{1, 640, 480, 0.1, 100, 0, 0, 10}
	check := Schema()[Camera]
	require.NoError(t, check(Numbers(good...)))
	for i, wrong := range map[int]float64{0: 4, 1: 1e9, 2: -1, 3: 0, 4: 0.05} {
		camera := append([]float64(nil), good...)
		camera[i] = wrong
		require.ErrorContains(t, check(Numbers(camera...)), "which makes no picture", "number %d", i+1)
	}
	require.Error(t, check(Numbers(1, 640.5, 480, 0.1, 100, 0, 0, 10)))
}
