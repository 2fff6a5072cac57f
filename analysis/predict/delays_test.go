package predict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/metasim"
)

// A link with another least delay moves every message by as much, and keeps what links owe the dispatcher.
func TestChangedLinks(t *testing.T) {
	table, err := delay.NewTable(1, []delay.Rule{{Spec: delay.Spec{Delay: delay.Uniform{Min: 5, Max: 50}, Order: delay.FIFO}}})
	require.NoError(t, err)
	for _, least := range []metasim.Time{0, 3, 5, 100} {
		before := table.Link("a", "b", "C")
		changed := (&changedDelays{table, []Change{{from: "a", to: "*", what: changeDelay, time: least}}}).Link("a", "b", "C")
		require.Equal(t, least, changed.Min())
		at := metasim.Start
		for n := range uint64(200) {
			bound := changed.Earliest(at)
			was, is := before.Transit(nil, n, at, 8), changed.Transit(nil, n, at, 8)
			require.Equal(t, at.Add(was[0].Time-at.Time-5+least), is[0])
			require.False(t, is[0].Before(bound))
			require.True(t, at.Before(bound))
			at = at.Add(metasim.Time(n % 7))
		}
	}
}
