package scenarios

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who may use which channels: lists decide, and an external client without one may use what the scenario names, if it says enough.
func TestPermissionsOfScenarios(t *testing.T) {
	const models = "{name: s, model: source, with: {channel: A.1, period: 1s}}, {name: k, model: sink, with: {channels: ['B_.*']}}"
	named := []string{"A\\.1", "B_.*"}
	for clients, want := range map[string]map[string]Permission{
		models:                                                         {},
		models + ", {name: x, external: true}":                         {"x": {Publish: named, Subscribe: named, Complete: true}},
		"{name: x, external: true}":                                    {},
		"{name: x, count: 2, external: true}":                          {},
		models + ", {name: c, run: [sh]}":                              {},
		models + ", {name: x, count: 2, external: true}":               {},
		models + ", {name: x, external: true}, {name: c, run: [sh]}":   {},
		"{name: x, external: true, publish: []}, {name: c, run: [sh]}": {"x": {Publish: []string{}, Subscribe: []string{}}},
		"{name: x, external: true}, {name: c, run: [sh], publish: [C]}": {
			"c": {Publish: []string{"C"}}, "x": {Publish: []string{"C"}, Subscribe: []string{"C"}},
		},
		"{name: x, external: true, subscribe: [D]}, {name: y, external: true, publish: [D, E]}": {
			"x": {Publish: []string{"D", "E"}, Subscribe: []string{"D"}}, "y": {Publish: []string{"D", "E"}, Subscribe: []string{"D", "E"}},
		},
	} {
		s, _, err := Parse("x.yaml", []byte("name: x\nuntil: 1s\nclients: ["+clients+"]\n"), Overrides{})
		require.NoError(t, err, clients)
		require.Equal(t, want, s.Permissions(), clients)
		text, err := s.Resolved(false)
		require.NoError(t, err)
		again, err := Restore(text, t.TempDir())
		require.NoError(t, err)
		for i := range s.Clients {
			require.Equal(t, s.Clients[i].Publish, again.Clients[i].Publish, "%s: none and nothing are not the same", clients)
			require.Equal(t, s.Clients[i].Subscribe, again.Clients[i].Subscribe)
		}
		require.True(t, json.Valid(text))
	}
	s, _, err := Parse("x.yaml", []byte("name: x\nuntil: 1s\nclients: [{name: x, external: true}]\nlinks: [{channel: 'V*.1', delay: 1ms}, {channel: '*'}]\n"), Overrides{})
	require.NoError(t, err)
	require.Equal(t, []string{`V.*\.1`}, s.Permissions()["x"].Publish, "a rule names channels; one for all channels names none")
	for text, want := range map[string]string{
		"{name: s, model: source, with: {channel: A, period: 1s}, publish: [A]}": "is for commands and external clients",
		"{name: x, external: true, subscribe: ['*']}":                            "neither a channel nor a regular expression",
	} {
		_, _, err := Parse("x.yaml", []byte("name: x\nuntil: 1s\nclients: ["+text+"]\n"), Overrides{})
		require.ErrorContains(t, err, want)
	}
}
