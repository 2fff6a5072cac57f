//go:build unix

package interest

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkObservers says how many observers of 100,000 entities in a square of 2 km are told of them 20 times a second, on two processors:
// those within 50 m each time, within 100 m at 5 Hz, within 200 m once a second. An update of 50 bytes is written for each. It is the processor time that
// counts, so what else the machine does hardly matters; the figure is for two processors that do nothing else.
func BenchmarkObservers(b *testing.B) {
	const entities, side, hertz, each, processors, metre = 100_000, 2000 * 1_000_000, 20.0, 50, 2, 1_000_000
	var update [each]byte
	for _, moving := range []int{100, 10} {
		b.Run(fmt.Sprintf("moving=%d%%", moving), func(b *testing.B) {
			g, err := New(Config{Side: side, Cell: 50 * metre, Rings: []Ring{{50 * metre, 1}, {100 * metre, 4}, {200 * metre, 20}}})
			require.NoError(b, err)
			draw := rand.New(rand.NewPCG(1, 2))
			at := make([][2]int64, entities*moving/100)
			for i := range at {
				at[i] = [2]int64{draw.Int64N(side), draw.Int64N(side)}
			}
			const observers = 1000
			var looks [observers][2]int64
			for i := range looks {
				looks[i] = [2]int64{draw.Int64N(side), draw.Int64N(side)}
			}
			var moves, tells time.Duration
			told := 0
			var due []int
			packet := make([]byte, 0, 1<<16)
			for step := range uint64(b.N) {
				start := processorTime(b)
				for i := range at {
					at[i][0] = (at[i][0] + 50_000) % side // 1 m/s
					g.Put(i, at[i][0], at[i][1])
				}
				moved := processorTime(b)
				for i := range observers {
					due = g.Due(due[:0], step, looks[i][0], looks[i][1])
					packet = packet[:0]
					for _, e := range due {
						packet = append(packet, update[:]...)
						packet[len(packet)-each] = byte(e)
					}
					told += len(due)
				}
				moves, tells = moves+moved-start, tells+processorTime(b)-moved
			}
			perObserver := tells.Seconds() / float64(b.N) / observers
			b.ReportMetric((processors/hertz-moves.Seconds()/float64(b.N))/perObserver, "observers")
			b.ReportMetric(float64(told)/float64(b.N)/observers*hertz, "updates/s/observer")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
