package monitor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
