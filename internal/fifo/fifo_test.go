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
