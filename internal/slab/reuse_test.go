package slab

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Memory follows what it is used for: all of it stays while a quarter is used now and then, and most goes after a burst.
func TestReuse(t *testing.T) {
	var use Use
	var s []int
	fill := func(n int) {
		for range n {
			s = append(s, 7)
		}
		s = Reuse(s, &use, 8)
	}
	fill(1000)
	full := cap(s)
	for i := range 1000 {
		fill(10 + 990*(i%smallUses/(smallUses-1)))
	}
	require.Equal(t, full, cap(s), "it is used now and then")
	for range 10 * smallUses {
		fill(10)
	}
	require.LessOrEqual(t, cap(s), 40, "it is not used any more")
	require.Zero(t, testing.AllocsPerRun(100, func() { fill(10) }))
	for range 10 * smallUses {
		fill(0)
	}
	require.GreaterOrEqual(t, cap(s), 5)
	require.LessOrEqual(t, cap(s), 8)
}
