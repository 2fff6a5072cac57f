package monitor

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/server"
)

func TestPage(t *testing.T) {
	v := View{Count: 3, Clients: []Client{{Name: "Robot-1", State: "waiting"}, {Name: "robot-2", State: "left"}, {Name: "camera", State: "waiting"}}}
	require.Len(t, v.Page(Rows{}).Clients, 3)
	require.Len(t, v.Page(Rows{Limit: 2}).Clients, 2)
	p := v.Page(Rows{Filter: " WAIT  robot ", Limit: 2})
	require.Equal(t, 1, p.Matching)
	require.Equal(t, "Robot-1", p.Clients[0].Name)
	require.Len(t, v.Clients, 3, "the view is others', too")
	require.Zero(t, v.Page(Rows{Filter: "nobody"}).Matching)
}

// A client inside of a nested run that sends nothing more out of it has not left, as far as is known here, until the run is over.
func TestNestedIsNotLeft(t *testing.T) {
	inside, alone := Process{Nested: "cell"}, Process{}
	left, waiting := &server.ClientSnapshot{State: server.Left}, &server.ClientSnapshot{State: server.Waiting}
	goesOn, over := &server.Snapshot{Started: true, Clients: []server.ClientSnapshot{*left, *waiting}}, &server.Snapshot{Started: true, Over: true}
	require.Equal(t, "nested", does(goesOn, left, inside))
	require.Equal(t, "left", does(goesOn, left, alone))
	require.Equal(t, "waiting", does(goesOn, waiting, inside))
	require.Equal(t, "left", does(over, left, inside))
}

func names(v View) (all []string) {
	for _, c := range v.Clients {
		all = append(all, c.Name)
	}
	return all
}

// Rows are sorted by any column, and backwards; the view itself stays as it is.
func TestSort(t *testing.T) {
	v := View{Clients: []Client{
		{Name: "robot-10", State: "waiting", At: Instant{Seconds: 1, Step: 2}, Queued: 1, MessagesS: 3, Blocked: 0.5, Blame: 2, HeldS: 1, Factor: 1, Holder: "b"},
		{Name: "robot-9", State: "computing", At: Instant{Seconds: 1}, Queued: 7, MessagesS: 2, Blocked: 0.9, Blame: 1, HeldS: 3, Factor: 3, Holder: "a"},
		{Name: "camera", State: "left", At: Instant{Seconds: 2}, Safe: Instant{Seconds: -1}, Queued: 3, MessagesS: 9, Blocked: 0.1, HeldS: 2, Factor: 2, Holder: "c"},
	}}
	const a, b, c = "robot-10", "robot-9", "camera"
	for key, want := range map[string][]string{
		"client": {c, b, a}, "does": {b, c, a}, "at": {b, a, c}, "safe": {c, a, b}, "queue": {b, c, a}, "rate": {c, a, b}, "factor": {b, c, a},
		"blocked": {b, a, c}, "holds": {a, b, c}, "held": {b, c, a}, "waits": {b, a, c},
	} {
		require.Contains(t, sortKeys, key)
		require.Equal(t, want, names(v.Page(Rows{Sort: key})), key)
		back := slices.Clone(want)
		slices.Reverse(back)
		require.Equal(t, back, names(v.Page(Rows{Sort: key, Back: true})), key)
	}
	require.Len(t, byColumn, len(sortKeys))
	require.Equal(t, []string{a, b, c}, names(v))
}

// Alike clients are one row: their sums and means, the furthest behind, and what most of them wait for.
func TestGroups(t *testing.T) {
	v := View{Clients: []Client{
		{Name: "camera", State: "computing", Blame: 2, rank: 6},
		{Name: "robot-0", State: "waiting", At: Instant{Seconds: 2}, Queued: 1, Blocked: 0.5, Blame: 0.5, rank: 1, Holder: "camera", Root: "camera", place: 1},
		{Name: "robot-1", State: "computing", At: Instant{Seconds: 1}, Queued: 2, Blocked: 1, HeldS: 2, place: 2},
		{Name: "robot-2", State: "waiting", At: Instant{Seconds: 3}, Blocked: 0, Holder: "camera", Root: "camera", place: 3},
		{Name: "lonely-7", State: "waiting", place: 4}, {Name: "7", State: "left", place: 5}, {Name: "8", State: "left", place: 6},
	}}
	p := v.Page(Rows{Group: true})
	require.Equal(t, []string{"camera", "robot-*", "lonely-7", "7", "8"}, names(p))
	g := p.Clients[1]
	require.Equal(t, 3, g.Count)
	require.Equal(t, "1 computing, 2 waiting", g.Mix)
	require.Equal(t, "waiting", g.State)
	require.Equal(t, 1.0, g.At.Seconds)
	require.Equal(t, 3, g.Queued)
	require.Equal(t, 0.5, g.Blocked)
	require.Equal(t, 0.5, g.Blame)
	require.Equal(t, 2.0, g.HeldS)
	require.Equal(t, "camera", g.Holder)
	require.Equal(t, 7, p.Matching, "of clients")
	require.Len(t, v.Clients, 7)
}
