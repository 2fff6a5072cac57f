package slab

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLendAndReclaim(t *testing.T) {
	var s Slab[[2]int]
	pass := func() {
		for range 100 {
			v := s.Lend()
			if v[0] != 0 {
				t.Fatal("what is lent is zero")
			}
			v[0] = 1
		}
		s.Reclaim()
	}
	pass()
	pass()
	require.Zero(t, testing.AllocsPerRun(100, pass))
}

// Values that were lent keep their addresses while more are lent.
func TestLentStays(t *testing.T) {
	var s Slab[int]
	var lent []*int
	for i := range 1000 {
		p := s.Lend()
		*p = i
		lent = append(lent, p)
	}
	for i, p := range lent {
		require.Equal(t, i, *p)
	}
}

func TestReclaimAtMost(t *testing.T) {
	var s Slab[int]
	for range 100 {
		s.Lend()
	}
	s.ReclaimAtMost(1000)
	require.NotZero(t, cap(s.lent))
	s.ReclaimAtMost(10)
	require.Zero(t, cap(s.lent))
	require.Zero(t, *s.Lend())
}
