package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/internal/golden"
	"metasim/internal/problem"
)

// A composed scenario is the plain one that it means, and stays that in the manifest of a run.
func TestAComposedScenarioIsPinned(t *testing.T) {
	golden.Equal(t, "testdata/good/plant.json", resolved(t, load(t, "testdata/good/plant.metasim.yaml"))+"\n")
}

// cellsByHand is the same scenario as cells.metasim.yaml, written as one plain file with full names.
const cellsByHand = `
name: cells
seed: 7
until: 1s
clients:
  - {name: cell-0/feeder, model: source, with: {channel: cell-0/PART, period: 20ms}}
  - {name: cell-0/arm, model: echo, with: {in: cell-0/PART, out: DONE}}
  - {name: cell-0/eye, model: sink, with: {channels: [cell-0/PART, DONE]}}
  - {name: cell-1/feeder, model: source, with: {channel: cell-1/PART, period: 20ms}}
  - {name: cell-1/arm, model: echo, with: {in: cell-1/PART, out: DONE}}
  - {name: cell-1/eye, model: sink, with: {channels: [cell-1/PART, DONE]}}
  - {name: conveyor, model: echo, with: {in: DONE, out: BELT}}
  - {name: counter, model: sink, with: {channels: [BELT]}}
links:
  - {delay: 5ms}
  - {from: cell-1/*, to: conveyor, delay: 30ms}
  - {from: cell-0/*, to: cell-0/*, delay: 0s}
  - {from: cell-0/*, to: cell-0/*, delay: 1ms}
  - {from: cell-0/feeder, to: cell-0/arm, delay: {uniform: {min: 2ms, max: 9ms}}}
  - {from: cell-1/*, to: cell-1/*, delay: 0s}
  - {from: cell-1/*, to: cell-1/*, delay: 1ms}
  - {from: cell-1/feeder, to: cell-1/arm, delay: {uniform: {min: 2ms, max: 9ms}}}
`

func TestAComposedScenarioIsTheOneWrittenByHand(t *testing.T) {
	composed := load(t, "cells.metasim.yaml")
	plain, warnings, err := Parse("cells.metasim.yaml", []byte(cellsByHand), Overrides{})
	require.NoError(t, err)
	for _, w := range warnings {
		assert.Contains(t, w.Message, "no link matches this rule") // the written rule for pairs of a cell that do not talk
	}
	assert.Equal(t, plain.Rules, composed.Rules)
	require.Len(t, composed.Clients, len(plain.Clients))
	for i := range plain.Clients {
		assert.Equal(t, plain.Clients[i].Name, composed.Clients[i].Name)
		assert.Equal(t, plain.Flow.Groups[i].Ports, composed.Flow.Groups[i].Ports)
	}
	assert.Equal(t, "arm", composed.Clients[1].Scope.Calls("cell-0/arm"))
}

// What a client of a scenario inside names, it names in its own directory, and its permissions in its own words.
func TestAClientInsideKeepsItsOwnWords(t *testing.T) {
	s := load(t, "testdata/good/plant.metasim.yaml")
	dir, err := filepath.Abs("testdata/good/plant")
	require.NoError(t, err)
	byName := map[string]*Client{}
	for i := range s.Clients {
		byName[s.Clients[i].Name] = &s.Clients[i]
	}
	watcher := byName["hall/cell-1/watcher"]
	require.NotNil(t, watcher)
	assert.Equal(t, dir, watcher.Dir)
	assert.Equal(t, filepath.Join(dir, "data"), watcher.WorkDir)
	assert.Equal(t, []string{"p.*"}, watcher.Subscribe)
	program, err := s.Command(watcher)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "watch.sh"), program)
	env := s.Env(byName["hall/cell-1/arm-1"])
	assert.Equal(t, []any{"arm-1", "arm", "hall/cell-1/arm-1", dir}, []any{env.Name, env.Entry, env.Key(), env.Dir})
	assert.Equal(t, []string{"hall", "hall/cell-0", "hall/cell-1"}, []string{s.Nested[0].Name, s.Nested[1].Name, s.Nested[2].Name})
	assert.Equal(t, "PARTS", s.Scopes["hall/cell-1"].Channel("part"))
	assert.Equal(t, map[string]int{}, s.Placement)
}

// Paths of --set and of a sweep lead into the file of a scenario inside.
func TestOverridesReachIntoAScenarioInside(t *testing.T) {
	s := load(t, "cells.metasim.yaml", "clients.cell.clients.feeder.with.period=40ms", "clients.cell.links[0].delay=3ms", "clients.cell.count=1")
	assert.Equal(t, "40ms", s.Clients[0].With["period"])
	assert.Len(t, s.Clients, 5)
	assert.Equal(t, delay.Constant(3*ms), s.Rules[3].Delay)
	assert.Equal(t, "20ms", load(t, "cell.metasim.yaml").Clients[0].With["period"], "the file itself stays")
	deep := load(t, "testdata/good/plant.metasim.yaml", "clients.hall.clients.cell.clients.arm.count=1", "clients.hall.clients.clerk.with.out=memo")
	assert.Len(t, deep.Clients, 10)
}

// write writes the files of a scenario into a directory, and returns the path of the first, main.metasim.yaml.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a b")
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return filepath.Join(dir, "main.metasim.yaml")
}

// told is what a user is told of a scenario, without the directory.
func told(t *testing.T, main string, o Overrides) string {
	t.Helper()
	_, warnings, err := Load(main, o)
	var b strings.Builder
	for _, w := range warnings {
		b.WriteString("warning: " + w.String() + "\n")
	}
	if err != nil {
		var invalid *problem.Invalid
		require.ErrorAs(t, err, &invalid)
		b.WriteString(err.Error() + "\n")
	}
	return strings.ReplaceAll(filepath.ToSlash(b.String()), filepath.ToSlash(filepath.Dir(main))+"/", "")
}

const small = `
name: inner
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms, count: 3}}
  - {name: b, model: sink, with: {channels: [A]}}
`

func TestWhatIsWrongWithAScenarioInside(t *testing.T) {
	outer := func(entry string) string { return "name: outer\nuntil: 1s\nclients:\n  - " + entry + "\n" }
	for name, c := range map[string]struct {
		files map[string]string
		set   []string
		want  string
	}{
		"a file below contains it": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: x/i.yaml}}"),
			"x/i.yaml": "name: i\nclients: [{name: d, model: scenario, with: {file: ../main.metasim.yaml}}]\n"}, nil,
			"x/i.yaml:2:51: clients[0].with.file: a scenario cannot be inside of itself: main.metasim.yaml -> x/i.yaml -> main.metasim.yaml; take one"},
		"it lies elsewhere": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: x/i.yaml}}"), "j.yaml": small,
			"x/i.yaml": "name: i\nclients: [{name: d, model: scenario, with: {file: ../j.yaml}}]\n"}, nil,
			`x/i.yaml:2:51: clients[0].with.file: "../j.yaml" lies outside of the scenario's directory`},
		"it contains itself": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml}}"),
			"i.yaml": "name: i\nclients: [{name: d, model: scenario, with: {file: main.metasim.yaml}}]\n"}, nil,
			"i.yaml:2:51: clients[0].with.file: a scenario cannot be inside of itself: main.metasim.yaml -> i.yaml -> main.metasim.yaml; take one"},
		"it is not there": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml}}")}, nil,
			`main.metasim.yaml:4:45: clients[0].with.file: there is no file "i.yaml"`},
		"no file": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {expose: [A]}}")}, nil, "clients[0].with.file: is missing"},
		"its own mistakes, at their own places": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: x/i.yaml}}"),
			"x/i.yaml": "name: i\nclients:\n  - {name: d, model: source, with: {channel: A, period: -1s}}\n  - {name: e, model: ecoh}\n"}, nil,
			`x/i.yaml:4:22: clients[1].model: "ecoh" is not a built-in model; did you mean "echo"?`},
		"what only the checks find": {map[string]string{"main.metasim.yaml": outer("{name: c, count: 2, model: scenario, with: {file: x/i.yaml}}"),
			"x/i.yaml": "name: i\nclients:\n  - {name: d, model: lcmlog, with: {file: no.lcmlog}}\n"}, nil,
			`x/i.yaml:3:43: clients[0].with.file: there is no file "no.lcmlog" below the scenario's directory`},
		"a key for a single client": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml}, on_exit: detach}"), "i.yaml": small}, nil,
			"clients[0].on_exit: is for a single client; say it of the clients in i.yaml"},
		"exposed under a name inside": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml, expose: [{A: c/B}]}}"), "i.yaml": small}, nil,
			`scenario "c" exposes "A" as "c/B": such names are those of channels that stay inside`},
		"two under one name": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml, expose: [{A: X}, {B: X}]}}"), "i.yaml": small}, nil,
			`scenario "c" exposes "B" as "X": "A" has that name already`},
		"exposed and not declared": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml, expose: [AA]}}"), "i.yaml": small}, nil,
			`exposes channel "AA", which no client of i.yaml declares; did you mean "A"?`},
		"its until": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml}}"), "i.yaml": small + "until: 2s\nseed: 4\n"}, nil,
			"warning: i.yaml:6:1: until: counts for nothing in a scenario that is inside of another one; main.metasim.yaml decides"},
		"a rule for its inside": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml}}\nlinks: [{from: c/a, to: c/b, delay: 1ms}]"), "i.yaml": small}, nil,
			"links[0]: counts for nothing: between clients of c its own file decides"},
		"a client with its name": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml}}\n  - {name: c/a, model: sink, with: {channels: [X]}}"), "i.yaml": small}, nil,
			`clients[1].name: is "c/a", and a scenario inside is called "c" (line 4)`},
		"two that a third confuses": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml, expose: [A]}}\n  - {name: a, model: source, with: {channel: A, period: 1ms}}"), "i.yaml": small}, nil,
			`clients[1].name: is "a" for the clients of c, as "c/a" is, and both can send to them; choose another name`},
		"a hidden name": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml, expose: [{A: X}]}}\n  - {name: p, model: source, with: {channel: c/A, period: 1ms}}"), "i.yaml": small}, nil,
			`clients[1].with.channel: "c/A" is exposed as "X"; write that`},
		"--set leads nowhere": {map[string]string{"main.metasim.yaml": outer("{name: c, model: scenario, with: {file: i.yaml}}"), "i.yaml": small}, []string{"clients.c.clients.x.with.period=1s"},
			`--set: clients.c.clients.x.with.period: nothing here is named "x"; use a or b`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, told(t, write(t, c.files), Overrides{Set: c.set}), c.want)
		})
	}
}
