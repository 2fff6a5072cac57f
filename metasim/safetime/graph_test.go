package safetime

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim/simtime"
)

// latestBefore is the inverse of Add: the latest instant that does not lead beyond, and no other.
func TestLatestBeforeIsTheInverseOfAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := Instant{Time: Time(rapid.Int64Range(0, 50).Draw(t, "time")), Step: rapid.Uint32Range(0, 3).Draw(t, "step")}
		d := Time(rapid.Int64Range(0, 60).Draw(t, "delay"))
		x := latestBefore(i, d)
		if x == simtime.Start && i.Before(simtime.Start.Add(d)) {
			return // nothing leads there
		}
		require.False(t, i.Before(x.Add(d)), "%v leads beyond", x)
		next := Instant{Time: x.Time, Step: x.Step + 1}
		if x.Step == math.MaxUint32 {
			next = simtime.At(x.Time + 1)
		}
		require.True(t, i.Before(next.Add(d)), "%v leads no further", next)
	})
	require.Equal(t, simtime.Infinity, edge{link: constant(5)}.latestFor(simtime.Infinity))
}

// QuietUntil is the least over all recipients, those behind a channel node too; a recipient that waits for nothing does not count.
func TestQuietUntil(t *testing.T) {
	g := NewGraph(5)
	g.Connect(0, 1, constant(5))
	g.Feed(0, g.AddChannelNode([]Node{2, 3, 4}, constant(2)))
	needs := []Instant{simtime.Start, simtime.At(20), simtime.At(30), simtime.At(18), simtime.Infinity}
	quiet := func() Instant { return g.QuietUntil(0, func(node Node) Instant { return needs[node] }) }
	require.Equal(t, latestBefore(simtime.At(20), 5), quiet())
	needs[3] = simtime.At(10)
	require.Equal(t, latestBefore(simtime.At(10), 2), quiet())
	for i := range needs {
		needs[i] = simtime.Infinity
	}
	require.Equal(t, simtime.Infinity, quiet())
}
