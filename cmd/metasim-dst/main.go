// Command metasim-dst runs the simulation of the system itself (package dst) over many seeds, and says what failed, with the command that
// repeats it.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"metasim/dst"
)

func main() {
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
				add(&total, r)
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
	fmt.Printf("%d runs of %d scenarios, %d failed: %d clients, %d sends, %d messages handled, %d things happened, %d runs lost a client, %d ended with it, %d stretches were driven, %d clients started again, %d servers crashed, %d clients came back; %.0f runs/s\n",
		done*dst.Schedules, done, failed, total.Clients, total.Sent, total.Handled, total.Happened, total.Lost, total.Failed, total.Driven, total.Restarted, total.Crashes, total.Returned,
		float64(done*dst.Schedules)/seconds)
	return failed == 0
}

func add(total *dst.Result, r dst.Result) {
	total.Clients += r.Clients
	total.Sent += r.Sent
	total.Handled += r.Handled
	total.Happened += r.Happened
	total.Lost += r.Lost
	total.Failed += r.Failed
	total.Driven += r.Driven
	total.Restarted += r.Restarted
	total.Crashes += r.Crashes
	total.Returned += r.Returned
}
