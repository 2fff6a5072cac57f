package delay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A line counts what it was given, and how far it is behind.
func TestLoad(t *testing.T) {
	table, err := NewTable(1, []Rule{{Channel: "V", Spec: Spec{Bandwidth: 8000, Loss: Bernoulli(1)}}, {Channel: "W", Spec: Spec{Loss: Bernoulli(0.5)}}})
	require.NoError(t, err)
	link := table.Link("a", "b", "V")
	line := link.(Line)
	require.Equal(t, Load{Bandwidth: 8000}, line.Load())
	for i := range 10 { // 1000 bytes take a second, and are sent every half
		link.Transit(nil, uint64(i), metasim.At(metasim.Second+metasim.Time(i)*metasim.Second/2), 1000)
	}
	load := line.Load()
	require.EqualValues(t, 10, load.Messages)
	require.Equal(t, 10*metasim.Second, load.Busy)
	require.Equal(t, 11*metasim.Second, load.Free)
	share, lasts := load.Share()
	require.Equal(t, 9*metasim.Second/2, lasts)
	require.Equal(t, 2.0, share)

	lossy, ok := table.Link("a", "b", "W").(Line)
	require.True(t, ok)
	require.Zero(t, lossy.Load())
	_, ok = table.Link("a", "b", "X").(Line)
	require.False(t, ok, "it has no state at all")
	share, lasts = new(Load).Share()
	require.Zero(t, share)
	require.Zero(t, lasts)
}
