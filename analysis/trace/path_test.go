package trace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// However long two clients answer one another, few nodes are stored: all of the path is known but for its end.
func TestWhatIsStoredOfTheCriticalPath(t *testing.T) {
	const all = 100_000
	tr, err := newTracer(Source{Config: metasim.Config{Clients: []string{"a", "b"}}})
	require.NoError(t, err)
	for i := range int64(all) {
		id := metasim.ClientID(i % 2)
		me, other := &tr.clients[id], &tr.clients[1-id]
		n := tr.addNode(node{work: 2, end: 2*i + 2, prev: other.node, client: id, how: byReport, via: 1 - id, grant: -1})
		me.clock = clock{conservative: 2*i + 2, node: n}
		tr.addNode(node{work: 1, prev: n, client: id, grant: -1}) // nothing comes after it
		tr.endPass()
		require.LessOrEqual(t, len(tr.nodes), 2*minNodes)
	}
	tr.sumUp()
	sums := &tr.tl.Totals
	require.EqualValues(t, 2*all, sums.ConservativePath)
	require.EqualValues(t, all, sums.Hops)
	require.Len(t, tr.tl.Critical, all)
	require.Equal(t, Part{Client: 1, Begin: 2*all - 2, End: 2 * all}, tr.tl.Critical[all-1])
	for i := range sums.Clients {
		require.EqualValues(t, all, sums.Clients[i].Critical)
	}
	require.Equal(t, Segment{Work: all, Entered: all / 2}, *tr.segments[LinkID{From: 1, To: 0}])
}
