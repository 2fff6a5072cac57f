package live

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who is to blame comes first; what nobody sees of a blame moves no row; and who has gone is in nobody's way.
func TestOrder(t *testing.T) {
	rows := []Client{
		{Name: "left", State: "left", Blame: 9}, {Name: "b", State: "waiting", Blame: 0.04}, {Name: "a", State: "computing"},
		{Name: "c", State: "computing", Blame: 2.04}, {Name: "d", State: "waiting", Blame: 2.01},
	}
	slices.SortFunc(rows, blameFirst)
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"c", "d", "a", "b", "left"}, names)
}

func TestPage(t *testing.T) {
	v := View{Count: 3, Clients: []Client{{Name: "Robot-1", State: "waiting"}, {Name: "robot-2", State: "left"}, {Name: "camera", State: "waiting"}}}
	require.Len(t, v.Page("", 0).Clients, 3)
	require.Len(t, v.Page("", 2).Clients, 2)
	p := v.Page(" WAIT  robot ", 2)
	require.Equal(t, 1, p.Matching)
	require.Equal(t, "Robot-1", p.Clients[0].Name)
	require.Len(t, v.Clients, 3, "the view is others', too")
	require.Zero(t, v.Page("nobody", 0).Matching)
}
