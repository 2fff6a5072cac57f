package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/scenarios"
)

// Who shares a process are built-in models of one entry, in order; commands and others never do.
func TestGroups(t *testing.T) {
	clients := []scenarios.Client{
		{Name: "a-0", Entry: "a", Model: "sink"}, {Name: "a-1", Entry: "a", Model: "sink"}, {Name: "a-2", Entry: "a", Model: "sink"},
		{Name: "b", Entry: "b", Model: "sink"},
		{Name: "c-0", Entry: "c", Run: []string{"./c"}}, {Name: "c-1", Entry: "c", Run: []string{"./c"}},
		{Name: "d-0", Entry: "d", External: true}, {Name: "d-1", Entry: "d", External: true},
	}
	names := func(pack int) [][]string {
		var all [][]string
		for _, p := range groups(clients, pack) {
			all = append(all, p.names())
		}
		return all
	}
	alone := [][]string{{"a-0"}, {"a-1"}, {"a-2"}, {"b"}, {"c-0"}, {"c-1"}, {"d-0"}, {"d-1"}}
	require.Equal(t, alone, names(0))
	require.Equal(t, alone, names(1))
	require.Equal(t, append([][]string{{"a-0", "a-1"}, {"a-2"}}, alone[3:]...), names(2))
	require.Equal(t, append([][]string{{"a-0", "a-1", "a-2"}}, alone[3:]...), names(100))
}
