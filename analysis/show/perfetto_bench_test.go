package show

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A run in which two clients answer one another, and each grant waits, computes, gets a message and sends one.
func answering(grants int) *trace.Timeline {
	t := &trace.Timeline{Names: []string{"pinger", "ponger"}, Channels: []string{"PING", "PONG"}}
	t.Paths = [][]metasim.Hop{{{From: 1, Channel: "PONG", Min: 50 * metasim.Millisecond}}, {{To: 1, Channel: "PING", Min: 5 * metasim.Millisecond}}}
	now := metasim.Time(0)
	critical := func(who metasim.ClientID, begin, end int64) {
		t.Critical = append(t.Critical, trace.Part{Client: who, Begin: begin, End: end})
	}
	for i := range grants {
		who, other := metasim.ClientID(i%2), metasim.ClientID(1-i%2)
		at, due := int64(i)*3000, now+metasim.Time(5+45*(i%2))*metasim.Millisecond
		t.Holds = append(t.Holds, trace.Hold{Begin: at - 2900, End: at, Root: other, Path: int32(who)})
		if i%3 > 0 {
			critical(who, at, at+400)
		}
		t.Grants = append(t.Grants, trace.Grant{
			Client: who, Cause: other, Polled: at - 3000, Granted: at, Reported: at + 3000, Work: 900 + int64(i*7919%900),
			From: metasim.Instant{Time: now}, Until: metasim.Instant{Time: due}, Holds: [2]int32{int32(i), int32(i + 1)},
		})
		t.Messages = append(t.Messages, trace.Message{
			LinkID: trace.LinkID{From: who, To: other, Channel: uint32(who)}, Size: 8, Sent: metasim.Instant{Time: now}, Due: metasim.Instant{Time: due},
			Queued: at + 1000, Delivered: at + 3000,
		})
		now, t.End = due, at+3000
	}
	return t
}

func BenchmarkPerfetto(b *testing.B) {
	t := answering(200_000)
	var size count
	for b.Loop() {
		size = 0
		_, err := Perfetto(&size, t)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(size)/float64(len(t.Grants)), "B/grant")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.Grants)), "ns/grant")
}

// count counts what is written.
type count int64

func (c *count) Write(b []byte) (int, error) {
	*c += count(len(b))
	return len(b), nil
}
