package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Case 3 between programs over QUIC: the owner hands over without a homeserver, and the envelopes sum up as many hops as those of a run. How long each took is in them.
func TestLiveHandover(t *testing.T) {
	s := newStage(t)
	a, b := &liveServer{stage: s, name: "a", other: "b"}, &liveServer{stage: s, name: "b", other: "a"}
	a.run()
	b.run()
	s.eventually("each has its ball", func() bool { return len(a.owns()) == 1 && len(b.owns()) == 1 })
	began := time.Now().UnixNano()
	a.tell("give ball-a b")
	s.eventually("both have said what they heard", func() bool { // what b writes may be read later than what a writes
		return strings.Contains(a.out.String(), `"kind":"ack"`) && strings.Contains(b.out.String(), `"kind":"handover"`)
	})
	ended := time.Now().UnixNano()
	require.Equal(t, []string{"ball-a", "ball-b"}, b.owns())

	messages := append(readTravelled(t, b.out.String(), "ball-a"), readTravelled(t, a.out.String(), "ball-a")...)
	hops, latency := 0, int64(0)
	var kinds []string
	for _, m := range messages {
		kinds = append(kinds, m.Kind)
		hops += m.Hops
		require.Len(t, m.LatencyNS, m.Hops)
		for _, ns := range m.LatencyNS {
			require.Positive(t, ns)
			latency += ns
		}
	}
	require.Equal(t, []string{"handover", "ack"}, kinds)
	require.LessOrEqual(t, latency, ended-began)
	var run struct{ Hops int }
	e := s.metasim("authority", "demo", "--json", "--case", "3")
	require.Zero(t, e.status, e.err)
	require.NoError(t, json.Unmarshal([]byte(e.out), &run))
	require.Equal(t, 2, run.Hops)
	require.Equal(t, run.Hops, hops, "as many as in a run")
	t.Logf("2 hops in %v", time.Duration(latency))
}
