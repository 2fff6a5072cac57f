package delay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A channel is common where one rule without chance decides it, for all senders and recipients; then Common and Link agree.
func TestCommon(t *testing.T) {
	half := Bernoulli(0.5)
	table, err := NewTable(1, []Rule{
		{Spec: Spec{Delay: Constant(5)}},
		{Channel: "LOSSY", Spec: Spec{Delay: Constant(5), Loss: half}},
		{Channel: "SLOW", Spec: Spec{Bandwidth: 1000}},
		{Channel: "TWICE", Spec: Spec{Duplicate: 0.5}},
		{Channel: "RANDOM", Spec: Spec{Delay: Uniform{Min: 1, Max: 2}}},
		{Channel: "NEAR", From: "*", To: "**", Spec: Spec{Order: FIFO}},
		{Channel: "ODD", From: "a", Spec: Spec{Delay: Constant(7)}},
	})
	require.NoError(t, err)
	for channel, want := range map[string]metasim.Time{"ANY": 5, "NEAR": 0} {
		link, ok := table.Common(channel)
		require.True(t, ok, channel)
		require.Equal(t, link, table.Link("a", "b", channel), channel)
		require.Equal(t, want, link.Min(), channel)
	}
	for _, channel := range []string{"LOSSY", "SLOW", "TWICE", "RANDOM", "ODD"} {
		_, ok := table.Common(channel)
		require.False(t, ok, channel)
	}
	empty, err := NewTable(1, nil)
	require.NoError(t, err)
	link, ok := empty.Common("ANY")
	require.True(t, ok)
	require.Equal(t, metasim.Start.Add(0), link.Earliest(metasim.Start))
}

// A fixed link behaves as the general one does with the same spec.
func TestFixedIsTheGeneralLink(t *testing.T) {
	for _, spec := range []Spec{{}, {Delay: Constant(0), Order: FIFO}, {Delay: Constant(3)}, {Delay: Constant(3), Order: FIFO}} {
		f, ok := spec.fixed()
		require.True(t, ok)
		general := newLink(spec, streams(1, "a", "b", "C"))
		require.Equal(t, general.Min(), f.Min())
		for n := range uint64(20) {
			sent := metasim.Instant{Time: metasim.Time(n / 2), Step: uint32(n % 2)}
			require.Equal(t, general.Earliest(sent), f.Earliest(sent))
			require.Equal(t, general.Transit(nil, n, sent, 10), f.Transit(nil, n, sent, 10))
		}
	}
}
