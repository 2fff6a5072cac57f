package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// A shortfall stands for all numbers with the same first digits, and is larger than each of them.
func TestShortfalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(0, 62).Draw(t, "bits")
		x := metasim.Time(rapid.Uint64Range(0, 1<<bits).Draw(t, "x"))
		safe := metasim.Time(rapid.Uint64Range(0, 1000).Draw(t, "safe"))
		d := shortfall(metasim.At(safe+x), metasim.Instant{Time: safe, Step: 3})
		require.Greater(t, d, x, "the bound of an authorization is exclusive")
		require.LessOrEqual(t, d-1, x+x/8)
		require.LessOrEqual(t, d, shortfall(metasim.At(safe+x+1), metasim.At(safe)))
		require.Equal(t, d, shortfall(metasim.At(d-1), metasim.Start))
	})
	require.Equal(t, metasim.Forever, shortfall(metasim.Infinity, metasim.Start))
	require.Equal(t, metasim.Time(1), shortfall(metasim.At(5), metasim.Instant{Time: 5, Step: 1}))
}
