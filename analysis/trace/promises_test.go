package trace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// Of very many promises a part is stored, and it is a fair sample.
func TestManyPromises(t *testing.T) {
	const n = 100_000
	var a promiseAccuracy
	for i := range metasim.Time(n) {
		a.add(promise{at: i, floor: i + 1, next: i + 1})
	}
	require.LessOrEqual(t, len(a.open), maxPromises)
	silent, promised, announced := a.judge(n)
	require.InDelta(t, 2./n, promised/silent, 0.02/n)
	require.Equal(t, promised, announced)
	silent, _, _ = a.judge(2 * n)
	require.Zero(t, silent)
}
