package world

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// A hundred balls on steps of 5 ms: what a step takes, and what the hash of its state.
func BenchmarkBalls(b *testing.B) {
	models := []*sdf.Model{ground(0, 1, 1)}
	for i := range 100 {
		models = append(models, thing(fmt.Sprintf("ball%03d", i), sphere(0.2), spatial.Vector{X: float64(i), Z: 1 + float64(i)/100}, 1, 1, 1))
	}
	s, err := New(Config{World: worldOf(5*ms, models...), Slots: []*Slot{{Name: "physics", System: Physics{}}}})
	require.NoError(b, err)
	require.NoError(b, s.Configure())
	b.Run("step", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, s.Step())
		}
	})
	b.Run("hash", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Hash()
		}
	})
	b.Run("changes", func(b *testing.B) {
		b.ReportAllocs()
		size := 0
		for b.Loop() {
			c := s.store.Since(s.store.Version() - 1)
			size = len(c.Append(nil))
		}
		b.ReportMetric(float64(size), "bytes")
	})
}
