package fifo

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A plain slice is the twin.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		plain := []int{}
		for i := range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "call") {
			case 0:
				q.Push(i)
				plain = append(plain, i)
			case 1:
				n := rapid.IntRange(0, len(plain)).Draw(t, "drop")
				q.Drop(n)
				plain = plain[n:]
			case 2:
				if len(plain) == 0 {
					require.Nil(t, q.First())
					continue
				}
				require.Equal(t, plain[0], *q.First())
				require.Equal(t, plain[0], q.Pop())
				plain = plain[1:]
			}
			require.Equal(t, len(plain), q.Len())
			require.Equal(t, append([]int{}, plain...), append([]int{}, q.All()...))
		}
	})
}

func TestQueueUsesItsMemoryAgain(t *testing.T) {
	for _, long := range []int{1, 3, 1000} {
		var q Queue[int]
		turn := func() {
			q.Push(1)
			if q.Len() > long {
				q.Drop(1)
			}
		}
		for range 4 * long {
			turn()
		}
		require.Zero(t, testing.AllocsPerRun(1000, turn), "a queue of %d", long)
	}
}

// The memory of a burst is returned: of a queue that is used up, and of one that never is.
func TestQueueGivesBack(t *testing.T) {
	for _, left := range []int{0, 3} {
		var q Queue[int]
		for i := range 100_000 {
			q.Push(i)
		}
		q.Drop(100_000 - left)
		for range 2_000_000 {
			q.Push(1)
			q.Drop(q.Len() - left)
		}
		require.LessOrEqual(t, cap(q.items), 4*least, "%d are left", left)
	}
}
