package balance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// From whatever loads, one round of plans of all servers leaves the greatest load at most one entity and the tolerance above the mean, gives nothing twice,
// and empties who leaves.
func TestPlansBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 6).Draw(t, "servers")
		weight := rapid.Uint64Range(1, 1000).Draw(t, "weight")
		var loads []Load
		var mine [][]Weight
		total, staying := uint64(0), uint64(0)
		for s := range servers {
			l := Load{Server: fmt.Sprint("s", s), Leaving: s > 0 && rapid.IntRange(0, 4).Draw(t, "leaves") == 0}
			var list []Weight
			for e := range rapid.IntRange(0, 100).Draw(t, "entities") {
				w := Weight{fmt.Sprint(s, "-", e), weight * uint64(rapid.IntRange(0, 1).Draw(t, "moves"))}
				list, l.Work = append(list, w), l.Work+w.Work
			}
			loads, mine = append(loads, l), append(mine, list)
			total += l.Work
			if !l.Leaving {
				staying++
			}
		}
		after, given := map[string]uint64{}, map[string]bool{}
		for s, l := range loads {
			after[l.Server] += l.Work
			moves := Plan(l.Server, loads, mine[s])
			require.Equal(t, moves, Plan(l.Server, loads, mine[s]))
			if l.Leaving {
				require.Len(t, moves, len(mine[s]))
			}
			for _, m := range moves {
				require.NotEqual(t, l.Server, m.To)
				require.False(t, given[m.Entity])
				given[m.Entity] = true
				for _, w := range mine[s] {
					if w.Entity == m.Entity {
						after[l.Server] -= w.Work
						after[m.To] += w.Work
					}
				}
			}
		}
		mean := total / staying
		for _, l := range loads {
			if l.Leaving {
				require.Zero(t, after[l.Server])
				continue
			}
			require.LessOrEqual(t, after[l.Server], mean+mean/tolerance+weight*uint64(servers), "%s of %v", l.Server, after)
		}
	})
}

// A hundred entities on one of four servers: 25 for each afterwards.
func TestHundredOnOne(t *testing.T) {
	loads := []Load{{Server: "a", Work: 10_000}, {Server: "b"}, {Server: "c"}, {Server: "d"}}
	var mine []Weight
	for i := range 100 {
		mine = append(mine, Weight{fmt.Sprintf("e-%02d", i), 100})
	}
	count := map[string]int{}
	for _, m := range Plan("a", loads, mine) {
		count[m.To]++
	}
	require.Equal(t, map[string]int{"b": 25, "c": 25, "d": 25}, count)
	require.Empty(t, Plan("b", loads, nil))
	require.Empty(t, Plan("a", loads[:1], mine), "there is nobody else")
}
