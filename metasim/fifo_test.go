package metasim

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A plain slice is the twin.
func TestFifo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f fifo[int]
		var plain []int
		for i := range rapid.IntRange(0, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				f.push(i)
				plain = append(plain, i)
			} else {
				n := rapid.IntRange(0, len(plain)).Draw(t, "drop")
				f.drop(n)
				plain = plain[n:]
			}
			require.Equal(t, len(plain), f.len())
			require.Equal(t, append([]int{}, plain...), append([]int{}, f.all()...))
		}
	})
}

// What is pushed and dropped in step takes no memory in the long run, however long the list.
func TestFifoUsesItsMemoryAgain(t *testing.T) {
	for _, long := range []int{1, 3, 1000} {
		var f fifo[int]
		turn := func() {
			f.push(1)
			if f.len() > long {
				f.drop(1)
			}
		}
		for range 4 * long {
			turn()
		}
		require.Zero(t, testing.AllocsPerRun(1000, turn), "a list of %d", long)
	}
}
