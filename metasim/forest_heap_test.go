package metasim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func someInstant(r *rand.Rand) Instant {
	switch r.IntN(12) {
	case 0:
		return Infinity
	case 1:
		return Instant{Time: Forever - 1 - Time(r.IntN(3)), Step: uint32(r.IntN(3))}
	case 2:
		return Instant{Time: Time(r.IntN(3)), Step: math.MaxUint32 - uint32(r.IntN(3))}
	}
	return Instant{Time: Time(r.IntN(6)), Step: uint32(r.IntN(3))}
}

// Candidates come out in order of their instants, however they went in.
func TestForestCandidates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var heap candidates
		var all []Instant
		for range r.IntN(30) {
			at := someInstant(r)
			heap.push(newCandidate(at, ClientID(len(all))))
			all = append(all, at)
			if r.IntN(3) == 0 {
				id := heap.pop()
				require.Equal(t, slices.MinFunc(all, Instant.Compare), all[id])
				heap.push(newCandidate(all[id], id))
			}
		}
		var got []Instant
		for len(heap) > 0 {
			got = append(got, all[heap.pop()])
		}
		slices.SortFunc(all, Instant.Compare)
		require.Equal(t, all, got)
	}
}

// A ranking answers as a list would that is searched each time.
func TestForestRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(20)
		rank, plain := newRanking(n), map[int32]Instant{}
		for range 100 {
			who := int32(r.IntN(n))
			if r.IntN(3) == 0 {
				rank.remove(who)
				delete(plain, who)
			} else {
				plain[who] = someInstant(r)
				rank.set(who, plain[who])
			}
			least := Infinity
			for _, key := range plain {
				least = Earlier(least, key)
			}
			got := rank.least()
			require.Equal(t, least, got.key)
			if len(plain) == 0 {
				require.Equal(t, nobody, got.who)
			} else {
				require.Equal(t, least, plain[got.who])
			}
		}
	}
}

// before is the least instant from which a message arrives at due or later.
func TestForestBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 50_000 {
		c := carrier{delay: []Time{0, 1, 5, Forever - 2}[r.IntN(4)]}
		if r.IntN(5) == 0 {
			c = carrier{timeless: true}
		}
		due, x := someInstant(r), someInstant(r)
		require.Equal(t, !c.earliest(x).Before(due), !x.Before(c.before(due)), "%+v: %v, sent %v", c, due, x)
	}
}

// At the last step of a time the echo of a hub is a bound still, if not the best.
func TestForestAtTheLastStep(t *testing.T) {
	for _, delays := range [][2]Time{{0, 1}, {1, 0}, {0, 0}} {
		bounds := []bound{{known: Instant{Time: 3, Step: math.MaxUint32}}, {known: Infinity}, {known: Infinity}}
		out := [][]edge{
			{{to: 1, link: constant(delays[0])}, {to: 2, link: constant(delays[1])}},
			{{to: 0, link: constant(delays[1])}}, {{to: 0, link: constant(delays[0])}},
		}
		f := newForest(bounds, out)
		plain := safeTimes(bounds, out)
		require.False(t, plain[0].Before(f.safeTime(0)), "%v: %v is not safe", f.safeTime(0), plain[0])
		require.Equal(t, plain[1:], f.all()[1:])
	}
}
