package monitor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stall is reported once, and then at doubling intervals. A report of a client or a pause begins it anew.
func TestStall(t *testing.T) {
	began := time.Now()
	w := stall{after: 10 * time.Second, next: 10 * time.Second, since: began}
	heard := uint64(0)
	held := false
	var told []int
	for second := 1; second <= 400; second++ {
		switch second {
		case 100:
			heard++
		case 150, 250:
			held = !held
		}
		silent, due := w.check(began.Add(time.Duration(second)*time.Second), heard, held)
		if due {
			told = append(told, second)
		}
		require.Equal(t, second >= 150 && second < 250 || second == 100, silent == 0)
	}
	require.Equal(t, []int{10, 20, 40, 80, 110, 120, 140, 259, 269, 289, 329}, told)
}
