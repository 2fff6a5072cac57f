package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/scenarios"
)

// Who shares a process are built-in models that follow one another, where nothing is said of one of them alone; commands and others never do.
func TestGroups(t *testing.T) {
	sc := &scenarios.Scenario{Clients: []scenarios.Client{
		{Name: "a-0", Entry: "a", Model: "sink"}, {Name: "a-1", Entry: "a", Model: "sink"}, {Name: "a-2", Entry: "a", Model: "sink"},
		{Name: "b", Entry: "b", Model: "source"},
		{Name: "c-0", Entry: "c", Run: []string{"./c"}}, {Name: "c-1", Entry: "c", Run: []string{"./c"}},
		{Name: "d-0", Entry: "d", External: true}, {Name: "d-1", Entry: "d", External: true},
		{Name: "e-0", Entry: "e", Model: "sink", Restarts: 1}, {Name: "e-1", Entry: "e", Model: "sink", Restarts: 1},
		{Name: "f", Entry: "f", Model: "sink", HangTimeout: 1}, {Name: "g", Entry: "g", Model: "sink", Detach: true}, {Name: "h", Entry: "h", Model: "sink"},
		{Name: "i", Entry: "i", Model: cellModel}, {Name: "j", Entry: "j", Model: "sink"}, {Name: "k", Entry: "k", Model: "sink"},
	}}
	names := func(o Options) string {
		var all []string
		for _, p := range o.groups(sc) {
			all = append(all, strings.Join(p.names(), "+"))
		}
		return strings.Join(all, " ")
	}
	const alone = "a-0 a-1 a-2 b c-0 c-1 d-0 d-1 e-0 e-1 f g h i j k"
	for pack, want := range map[int]string{
		0: alone, 1: alone,
		2: "a-0+a-1 a-2+b c-0 c-1 d-0 d-1 e-0 e-1 f g h i j+k", 100: "a-0+a-1+a-2+b c-0 c-1 d-0 d-1 e-0 e-1 f g h i j+k",
	} {
		require.Equal(t, want, names(Options{Transport: "unix", Pack: pack}))
	}
	sc.Placement = map[string]int{"a-1": 0, "a-2": 0, "b": 1}
	require.Equal(t, "a-0 a-1+a-2 b c-0 c-1 d-0 d-1 e-0 e-1 f g h i j k", names(Options{Transport: "unix", Pack: 100, Inside: []string{"k"}}), "they are on different hosts, and one is in this process")
}

// What a process is told of its models makes the clients that the scenario has, with the same names.
func TestInstances(t *testing.T) {
	dir := t.TempDir()
	const sink = "model: sink, with: {channels: [A]}"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "room.yaml"), []byte("name: room\nclients: [{name: k, "+sink+"}, {name: l, count: 2, "+sink+"}]\n"), 0o600))
	text := "name: all\nuntil: 1s\nclients: [{name: k, " + sink + "}, {name: m, count: 3, " + sink + "}, {name: one, count: 1, " + sink + "}, " +
		"{name: room, count: 2, model: scenario, with: {file: room.yaml}}]\n"
	sc, _, err := scenarios.Parse(filepath.Join(dir, "all.yaml"), []byte(text), scenarios.Overrides{})
	require.NoError(t, err)
	for pack := range 12 {
		for _, g := range (&Options{Transport: "unix", Pack: pack}).groups(sc) {
			text, err := json.Marshal(g.instances(7, false))
			require.NoError(t, err)
			in, err := ParseInstance(string(text))
			require.NoError(t, err)
			parts, err := in.Parts("")
			require.NoError(t, err)
			var names []string
			for _, p := range parts {
				names = append(names, p.Name)
			}
			require.Equal(t, g.names(), names)
		}
	}
	require.Len(t, (&Options{Transport: "unix", Pack: 12}).groups(sc), 1, "all of them share a process")
}
