package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// What the server pays to know how long its rounds take (Snapshot.Rounds): one reading of the clock a round more than it needs to stamp its
// entries. The round is the shortest there is: a lone client in the same process asks and is authorized, without a journal.
func BenchmarkRoundsAreTimed(b *testing.B) {
	r := serve(b, config("a"))
	a := r.join(hello("a"))[0]
	at := metasim.Start
	for b.Loop() {
		now := at
		at = at.Add(metasim.Microsecond)
		a.say(until(now, at))
		if _, err := a.next(); err != nil {
			b.Fatal(err)
		}
	}
	round := float64(b.Elapsed()) / float64(b.N)
	began, sum := time.Now(), time.Duration(0)
	const readings = 1_000_000
	for range readings {
		sum += time.Since(began)
	}
	clock := float64(time.Since(began)) / readings
	b.ReportMetric(clock, "ns/reading")
	b.ReportMetric(100*clock/round, "%-of-round")
	if sum == 0 {
		b.Fatal("the clock stands still")
	}
	r.cancel(errTestOver)
	require.ErrorIs(b, r.end(), errTestOver)
}
