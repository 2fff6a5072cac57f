package safetime

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim/simtime"
)

func someInstant(r *rand.Rand) Instant {
	switch r.IntN(12) {
	case 0:
		return simtime.Infinity
	case 1:
		return Instant{Time: simtime.Forever - 1 - Time(r.IntN(3)), Step: uint32(r.IntN(3))}
	case 2:
		return Instant{Time: Time(r.IntN(3)), Step: math.MaxUint32 - uint32(r.IntN(3))}
	}
	return Instant{Time: Time(r.IntN(6)), Step: uint32(r.IntN(3))}
}

// Candidates come out in order of their instants, however they went in.
func TestCandidates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var heap candidates
		var all []Instant
		for range r.IntN(30) {
			at := someInstant(r)
			heap.push(newCandidate(at, vertex(len(all))))
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

// A heap answers as a list would that is searched each time.
func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(20)
		h, list := newHeap(n), map[int32]Instant{}
		for range 100 {
			slot := int32(r.IntN(n))
			if r.IntN(3) == 0 {
				h.remove(slot)
				delete(list, slot)
			} else {
				list[slot] = someInstant(r)
				h.set(slot, list[slot])
			}
			least := simtime.Infinity
			for _, key := range list {
				least = simtime.Earlier(least, key)
			}
			got := h.least()
			require.Equal(t, least, got.key)
			if len(list) == 0 {
				require.Equal(t, none, got.slot)
			} else {
				require.Equal(t, least, list[got.slot])
			}
		}
	}
}
