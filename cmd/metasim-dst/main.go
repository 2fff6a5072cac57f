// Command metasim-dst runs the simulation of the system itself (package dst) over many seeds, and says what failed, with the command that
// repeats it.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"metasim/dst"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // a run holds little and throws it away: else garbage is collected a hundred times a second
	}
	seed := flag.Uint64("seed", 0, "run the scenario of this seed alone, as printed by a failure")
	from := flag.Uint64("from", 1, "the first seed")
	runs := flag.Int("runs", 20_000, fmt.Sprintf("how many runs; each scenario has %d", dst.Schedules))
	flag.Parse()
	first, scenarios := *from, (*runs+dst.Schedules-1)/dst.Schedules
	if *seed > 0 {
		first, scenarios = *seed, 1
	}
	if !all(first, scenarios) {
		os.Exit(1)
	}
}

// all runs so many scenarios, from the seed first. It reports false if one has failed.
func all(first uint64, scenarios int) bool {
	var mu sync.Mutex
	var total dst.Result
	var next atomic.Int64
	var workers sync.WaitGroup
	failed, done := 0, 0
	began := time.Now()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(scenarios); i = next.Add(1) - 1 {
				seed := first + uint64(i)
				r, err := dst.Run(seed)
				mu.Lock()
				done++
				total.Add(&r)
				if err != nil {
					failed++
					fmt.Printf("go run ./cmd/metasim-dst -seed %d: %v\n", seed, err)
					next.Store(int64(scenarios)) // the rest would say the same
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	seconds := time.Since(began).Seconds()
	fmt.Print(&total)
	fmt.Printf("%d runs of %d scenarios, %d failed; %.0f runs/s\n", done*dst.Schedules, done, failed, float64(done*dst.Schedules)/seconds)
	return failed == 0
}
