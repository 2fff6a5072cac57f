package spatial

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Boxes of all sizes are added, moved and removed. After each change the field finds the same pairs of boxes that meet as a test of every
// pair does.
func TestFieldOfBoxes(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var f Field
		boxes, moves := map[int]Box{}, map[int]bool{}
		put := func(n int, b Box) {
			boxes[n] = b
			f.Put(n, &b, moves[n])
		}
		for step := range 60 {
			for n := range 40 {
				switch b, there := boxes[n], boxes[n] != (Box{}); {
				case !there && random.IntN(4) == 0, there && random.IntN(20) == 0:
					moves[n] = random.IntN(3) > 0
					put(n, anyBox(random))
				case there && random.IntN(25) == 0:
					f.Remove(n)
					delete(boxes, n)
				case there && moves[n]:
					by := Vector{random.Float64() - 0.5, random.Float64() - 0.5, random.Float64() - 0.5}
					put(n, Box{b.Min.Add(by), b.Max.Add(by)})
				}
			}
			var got, want [][2]int
			f.Meetings(func(a, b int) { got = append(got, [2]int{min(a, b), max(a, b)}) })
			for a, box := range boxes {
				for b, other := range boxes {
					if a < b && (moves[a] || moves[b]) && box.Meets(&other) {
						want = append(want, [2]int{a, b})
					}
				}
			}
			order := func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }
			slices.SortFunc(got, order)
			slices.SortFunc(want, order)
			require.Equal(t, want, got, "step %d with seed %d", step, seed)
		}
	}
}

// anyBox is small or large, near or far, a point, without an end, or a power of two wide.
func anyBox(random *rand.Rand) Box {
	at := Vector{20*random.Float64() - 10, 20*random.Float64() - 10, 4*random.Float64() - 2}
	edge := math.Ldexp(random.Float64()+0.5, random.IntN(7)-3)
	switch random.IntN(12) {
	case 0:
		edge = 0
	case 1:
		edge = 4
		at.X, at.Y = 4*math.Floor(at.X/4), -4
	case 2:
		edge = 1e15
	case 3:
		at = at.Scale(1e12)
	}
	b := Around(at, Vector{edge, edge * random.Float64(), edge})
	if random.IntN(40) == 0 {
		b.Min.X, b.Max.X = math.Inf(-1), math.Inf(1)
	}
	return b
}
