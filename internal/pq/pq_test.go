package pq

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type item struct{ key, id int }

func less(a, b *item) bool { return a.key < b.key || a.key == b.key && a.id < b.id }

// A sorted slice is the twin.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := map[int]int{}
		q := Queue[item]{Less: less, Moved: func(v *item, i int) { at[v.id] = i }}
		var plain []item
		for id := range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "call") {
			case 0, 1:
				v := item{rapid.IntRange(0, 9).Draw(t, "key"), id}
				q.Push(v)
				plain = append(plain, v)
			case 2:
				if len(plain) == 0 {
					require.Nil(t, q.First())
					continue
				}
				require.Equal(t, plain[0], *q.First())
				require.Equal(t, plain[0], q.Pop())
				require.Equal(t, -1, at[plain[0].id])
				plain = plain[1:]
			case 3:
				if len(plain) == 0 {
					continue
				}
				k := rapid.IntRange(0, len(plain)-1).Draw(t, "remove")
				require.Equal(t, plain[k], q.Remove(at[plain[k].id]))
				plain = slices.Delete(plain, k, k+1)
			}
			slices.SortFunc(plain, func(a, b item) int {
				if less(&a, &b) {
					return -1
				}
				return 1
			})
			require.Equal(t, len(plain), q.Len())
		}
		for _, want := range plain {
			require.Equal(t, want, q.Pop())
		}
	})
}

func TestQueueUsesItsMemoryAgain(t *testing.T) {
	q := Queue[item]{Less: less}
	turn := func() {
		for i := range 50 {
			q.Push(item{key: i % 7, id: i})
		}
		for q.Len() > 0 {
			q.Pop()
		}
	}
	turn()
	require.Zero(t, testing.AllocsPerRun(100, turn))
}
