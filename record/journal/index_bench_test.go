package journal

import (
	"io"
	"strconv"
	"testing"

	"metasim/metasim"
)

// BenchmarkRun is what one message costs as in a run: sent, delivered, acknowledged; with the index that a run has and
// without. Their ratio is what the index costs.
func BenchmarkRun(b *testing.B) {
	for _, size := range []int{8, 64, 1024} {
		for name, names := range map[string][]string{"plain": nil, "indexed": {"a", "b"}} {
			b.Run(name+"/"+strconv.Itoa(size), func(b *testing.B) {
				w := NewWriter(io.Discard)
				if names != nil {
					w.index, w.save = newIndexer(names), func(*Index) error { return nil }
				}
				entries := round()
				send, poll, deliver := entries[0].Event.(*metasim.Send), entries[1].Event.(*metasim.PollWait), entries[2].Effects[0].(*metasim.Deliver)
				send.Payload = make([]byte, size)
				deliver.Message.Payload, poll.Client = send.Payload, 0
				b.ReportAllocs()
				n := uint64(0)
				for b.Loop() {
					poll.Acked = n
					n++
					deliver.Number = n
					for _, e := range entries {
						if err := w.Observe(e.Wall, e.Event, e.Effects); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
