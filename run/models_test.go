package run

import (
	"encoding/json"
	"fmt"
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
			told := g
			for _, of := range append([]Instance{*in}, in.More...) {
				for k := range of.Group {
					cl := &told[0]
					require.Equal(t, []any{cl.Model, cl.With, cl.Scope.Calls(cl.Entry), cl.Scope.Name(), cl.Index, cl.Count, cl.Dir, uint64(7)},
						[]any{of.Model, of.With, of.Entry, of.Scope, of.Index + k, of.Count, of.Dir, of.Seed})
					told = told[1:]
				}
			}
			require.Empty(t, told)
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

// A process is told of no more models than fit into an argument, however many may share it.
func TestGroupsFit(t *testing.T) {
	var sc scenarios.Scenario
	for i := range 3000 {
		sc.Clients = append(sc.Clients, scenarios.Client{Name: fmt.Sprint("c", i), Entry: fmt.Sprint("c", i), Model: "sink", With: map[string]any{"channels": []any{"A"}}, Count: 1})
	}
	sc.Clients[1000].With = map[string]any{"channels": []any{strings.Repeat("A", 2*mostTold)}} // it is told, or not, as it is
	var names []string
	all := (&Options{Transport: "unix", Pack: 5000}).groups(&sc)
	require.Less(t, len(all), 30)
	for _, g := range all {
		text, err := json.Marshal(g.instances(1, true))
		require.NoError(t, err)
		require.True(t, len(text) < mostTold+100 || len(g) == 1, "%d bytes", len(text))
		names = append(names, g.names()...)
	}
	require.Len(t, names, len(sc.Clients))
	for i, name := range names {
		require.Equal(t, sc.Clients[i].Name, name)
	}
	crowd := scenarios.Scenario{Clients: make([]scenarios.Client, 5000)}
	for i := range crowd.Clients {
		crowd.Clients[i] = scenarios.Client{Name: fmt.Sprint("c-", i), Entry: "c", Model: "sink", Index: i, Count: 5000}
	}
	require.Len(t, (&Options{Transport: "unix", Pack: 5000}).groups(&crowd), 1, "one description is enough for an entry")
}
