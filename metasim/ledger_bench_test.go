package metasim

import (
	"fmt"
	"testing"
)

// BenchmarkLedger is what one message costs the ledger: sent, queued, delivered, acknowledged.
func BenchmarkLedger(b *testing.B) {
	for _, size := range []int{8, 64, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := NewLedger([]string{"a", "b"})
			payload := make([]byte, size)
			m := Message{From: 0, Channel: "PING", Sent: At(5), Due: At(7), Payload: payload}
			send := &Send{Client: 0, Channel: "PING", Sent: At(5), Payload: payload}
			queue := []Effect{&Queue{To: 1, Message: m}}
			deliver := []Effect{&Deliver{To: 1, Message: m}, &Authorize{To: 1, Until: At(8)}}
			poll := &PollWait{Client: 1, Report: Report{Now: At(7)}}
			b.ReportAllocs()
			for b.Loop() {
				l.Observe(send, queue)
				l.Observe(nil, deliver)
				poll.Acked++
				l.Observe(poll, nil)
			}
		})
	}
}
