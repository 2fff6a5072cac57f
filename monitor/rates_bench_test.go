package monitor

import (
	"strconv"
	"testing"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// BenchmarkRemember is what the monitor does with a snapshot each two seconds while nobody looks; the snapshot itself says what it took.
// Nothing is done in a round of the dispatcher.
func BenchmarkRemember(b *testing.B) {
	for _, n := range []int{4, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m := NewMonitor(nil, func(string) Process { return Process{} })
			shot := server.Snapshot{Started: true, Clients: make([]server.ClientSnapshot, n)}
			for i := range shot.Clients {
				shot.Clients[i].Status = metasim.Status{Name: "client-" + strconv.Itoa(i)}
			}
			b.ReportAllocs()
			for b.Loop() {
				shot.Running += pastTime
				shot.Reached += metasim.Second
				shot.Clients[0].HeldOthers += time.Second
				m.measure(&shot)
				m.past.add(&shot)
			}
		})
	}
}
