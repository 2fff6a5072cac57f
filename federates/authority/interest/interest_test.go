package interest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const metre = 1_000_000 // micrometres

// A grid tells what one finds who measures every distance.
func TestGridIsLikeItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Side: rapid.Int64Range(1, 1000).Draw(t, "side"), Cell: rapid.Int64Range(1, 300).Draw(t, "cell"),
			Rings: []Ring{{rapid.Int64Range(1, 100).Draw(t, "near"), 1}, {rapid.Int64Range(101, 2000).Draw(t, "far"), rapid.Uint64Range(1, 9).Draw(t, "every")}},
		}
		g, err := New(cfg)
		require.NoError(t, err)
		twin := map[int][2]int64{}
		for step := range uint64(rapid.IntRange(1, 40).Draw(t, "steps")) {
			entity := rapid.IntRange(0, 9).Draw(t, "entity")
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				g.Remove(entity)
				delete(twin, entity)
			} else {
				at := [2]int64{rapid.Int64Range(-50, 1050).Draw(t, "x"), rapid.Int64Range(-50, 1050).Draw(t, "y")}
				g.Put(entity, at[0], at[1])
				twin[entity] = at
			}
			x, y := rapid.Int64Range(0, 1000).Draw(t, "ox"), rapid.Int64Range(0, 1000).Draw(t, "oy")
			var want []int
			for e, at := range twin {
				d := (at[0]-x)*(at[0]-x) + (at[1]-y)*(at[1]-y)
				every := uint64(0)
				for _, r := range slices.Backward(cfg.Rings) {
					if d <= r.Within*r.Within {
						every = r.Every
					}
				}
				if every > 0 && (step+uint64(e))%every == 0 {
					want = append(want, e)
				}
			}
			got := g.Due(nil, step, x, y)
			slices.Sort(got)
			slices.Sort(want)
			require.Equal(t, want, got)
		}
	})
}

// What makes no sense is named.
func TestConfigIsChecked(t *testing.T) {
	ring := []Ring{{10, 1}}
	for want, cfg := range map[string]Config{
		"Side is 0":        {Cell: 1, Rings: ring},
		"Cell is 0":        {Side: 10, Rings: ring},
		"Cell is 1":        {Side: 1 << 40, Cell: 1, Rings: ring},
		"Rings is empty":   {Side: 10, Cell: 1},
		"Rings[0] is not":  {Side: 10, Cell: 1, Rings: []Ring{{0, 1}}},
		"Rings[1] is not":  {Side: 10, Cell: 1, Rings: []Ring{{10, 1}, {10, 1}}},
		"or has no period": {Side: 10, Cell: 1, Rings: []Ring{{10, 0}}},
	} {
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
	}
}

// BenchmarkObservers says how many observers of 100,000 entities in a square of 2 km are told of them 20 times a second, on so many processors as it may use:
// those within 50 m each time, within 100 m at 5 Hz, within 200 m once a second. An update of 50 bytes is written for each.
func BenchmarkObservers(b *testing.B) {
	const entities, side, hertz, each = 100_000, 2000 * metre, 20, 50
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
			var told atomic.Int64
			for step := range uint64(b.N) {
				start := time.Now()
				for i := range at {
					at[i][0] = (at[i][0] + 50_000) % side // 1 m/s
					g.Put(i, at[i][0], at[i][1])
				}
				moved := time.Now()
				var group sync.WaitGroup
				workers := runtime.GOMAXPROCS(0)
				for w := range workers {
					group.Go(func() {
						var due []int
						packet := make([]byte, 0, 1<<16)
						for i := w; i < observers; i += workers {
							due = g.Due(due[:0], step, looks[i][0], looks[i][1])
							packet = packet[:0]
							for _, e := range due {
								packet = append(packet, make([]byte, each)...)
								packet[len(packet)-each] = byte(e)
							}
							told.Add(int64(len(due)))
						}
					})
				}
				group.Wait()
				moves, tells = moves+moved.Sub(start), tells+time.Since(moved)
			}
			perObserver := tells.Seconds() / float64(b.N) / observers
			b.ReportMetric((1.0/hertz-moves.Seconds()/float64(b.N))/perObserver, "observers")
			b.ReportMetric(float64(told.Load())/float64(b.N)/observers*hertz, "updates/s/observer")
		})
	}
}
