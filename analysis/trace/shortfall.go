package trace

import (
	"cmp"
	"math/bits"
	"slices"

	"metasim/metasim"
)

// A shortfall is the simulated time by which the safe time of a waiting client is less than what the client needs. If the least
// delay of a link on the path to the root were longer by the shortfall, that path would hold the client no longer. Summed over a
// run this gives a curve for each link: how much waiting ends if the link's delay is longer by x. The gain is smaller than that
// where another path holds the client too.
//
// A shortfall is stored with three significant binary digits.
type shortfall uint16

// unlimited is the shortfall of a client that waits for no particular instant. No delay ends its wait.
const unlimited = ^shortfall(0)

func newShortfall(need, safe metasim.Instant) shortfall {
	if need.Time == metasim.Forever {
		return unlimited
	}
	x := uint64(max(0, need.Time-safe.Time)) // one nanosecond less than what is missing: the bound is exclusive
	if x < 16 {
		return shortfall(x)
	}
	n := bits.Len64(x)
	return shortfall(8*(n-3)) + shortfall(x>>(n-4)&7) // 16 becomes 16, the next power of two 24
}

// most returns the longest delay increase that a shortfall can stand for.
func (d shortfall) most() metasim.Time {
	x := uint64(d)
	if x >= 16 {
		x = (8+x%8+1)<<(x/8-1) - 1
	}
	return metasim.Time(x).Add(1)
}

// A shortWait is for how many nanoseconds clients waited with one shortfall.
type shortWait struct {
	short shortfall
	took  int64
}

// shortfalls holds the waits of each path of a Timeline, in any order. A path has few different shortfalls.
type shortfalls [][]shortWait

// add counts a wait up to wall, with the shortfall that it has had so far.
func (s shortfalls) add(w *wait, wall int64) {
	took := wall - w.counted
	w.counted = wall
	if took <= 0 || !w.known || w.path < 0 || w.short == unlimited {
		return
	}
	sums := s[w.path]
	for i := range sums {
		if sums[i].short == w.short {
			sums[i].took += took
			return
		}
	}
	s[w.path] = append(sums, shortWait{w.short, took})
}

// perLink returns the waits behind each link of the run's paths, ordered by shortfall.
func (s shortfalls) perLink(t *tracer) map[LinkID][]ShortWait {
	links := map[LinkID][]shortWait{}
	for path, sums := range s {
		for _, hop := range t.tl.Paths[path] {
			id := t.linkOf(&hop)
			links[id] = append(links[id], sums...)
		}
	}
	all := make(map[LinkID][]ShortWait, len(links))
	for id, waits := range links { // each link by itself: the order does not matter
		slices.SortFunc(waits, func(a, b shortWait) int { return cmp.Compare(a.short, b.short) })
		var sums []ShortWait
		for i, w := range waits {
			if i > 0 && waits[i-1].short == w.short {
				sums[len(sums)-1].Took += w.took
				continue
			}
			sums = append(sums, ShortWait{w.short.most(), w.took})
		}
		all[id] = sums
	}
	return all
}
