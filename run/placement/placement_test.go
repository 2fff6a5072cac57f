package placement_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/run/placement"
)

// cut is how many messages go over the network: the dumb way.
func cut(places []int, t placement.Traffic) (n uint64) {
	for pair, messages := range t {
		if places[pair[0]] != places[pair[1]] {
			n += messages
		}
	}
	return n
}

// best tries every placement with at most so many free groups on a host.
func best(fixed []int, hosts, most int, t placement.Traffic) uint64 {
	least := uint64(math.MaxUint64)
	places, has := slices.Clone(fixed), make([]int, hosts)
	var try func(g int)
	try = func(g int) {
		switch {
		case g == len(fixed):
			least = min(least, cut(places, t))
		case fixed[g] >= 0:
			try(g + 1)
		default:
			for h := range hosts {
				if has[h] < most {
					has[h]++
					places[g] = h
					try(g + 1)
					has[h]--
				}
			}
		}
	}
	try(0)
	return least
}

// A placement keeps what is fixed, loads hosts alike, is never worse than the order, is never better than the best, and no move or swap makes it better.
func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, hosts := rapid.IntRange(1, 7).Draw(t, "groups"), rapid.IntRange(1, 3).Draw(t, "hosts")
		traffic, fixed, free := placement.Traffic{}, make([]int, n), 0
		for a := range n {
			if fixed[a] = rapid.IntRange(-3, hosts-1).Draw(t, "fixed"); fixed[a] < 0 {
				fixed[a] = -1
				free++
			}
			for b := a + 1; b < n; b++ {
				if m := rapid.IntRange(0, 5).Draw(t, "messages"); m > 0 {
					traffic[[2]int{a, b}] = uint64(m)
				}
			}
		}
		places := placement.Place(fixed, hosts, traffic)
		require.Equal(t, places, placement.Place(fixed, hosts, traffic))
		most, has := (free+hosts-1)/hosts, make([]int, hosts)
		for g := range n {
			if fixed[g] >= 0 {
				require.Equal(t, fixed[g], places[g])
			} else {
				has[places[g]]++
			}
		}
		require.LessOrEqual(t, slices.Max(has), most)
		inOrder := placement.Place(fixed, hosts, nil)
		require.LessOrEqual(t, cut(places, traffic), cut(inOrder, traffic))
		require.GreaterOrEqual(t, cut(places, traffic), best(fixed, hosts, most, traffic))
		for a := range n {
			for b := range n {
				if fixed[a] < 0 && fixed[b] < 0 {
					swapped := slices.Clone(places)
					swapped[a], swapped[b] = places[b], places[a]
					require.GreaterOrEqual(t, cut(swapped, traffic), cut(places, traffic))
				}
			}
			for h := range hosts {
				if fixed[a] < 0 && h != places[a] && has[h] < most {
					moved := slices.Clone(places)
					moved[a] = h
					require.GreaterOrEqual(t, cut(moved, traffic), cut(places, traffic))
				}
			}
		}
	})
}

// Groups that talk to one another alone are together, wherever they stand.
func TestPairs(t *testing.T) {
	places := placement.Place([]int{-1, -1, -1, -1, -1, -1}, 3, placement.Traffic{{0, 5}: 9, {1, 3}: 9, {2, 4}: 9})
	require.Equal(t, places[0], places[5])
	require.Equal(t, places[1], places[3])
	require.Equal(t, places[2], places[4])
}
