//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client from outside joins the dispatcher of the scenario inside that it is in, at an address of its own. At that of the outer run it is refused: it does not
// join in place of its proxy. With processes of their own there is no such address, which is said before the run, with the place in the file.
func TestNestedFromOutside(t *testing.T) {
	s := newStage(t)
	s.file("cell.yaml", "name: cell\nclients:\n  - {name: a, model: source, with: {channel: A, period: 10ms}}\n")
	s.file("outer.yaml", `name: outer
until: 1s
clients:
  - {name: cell, model: scenario, with: {file: cell.yaml, expose: [A]}}
  - {name: ear, model: sink, with: {channels: [A]}}
links: [{delay: 1ms}]
`)
	want := s.metasim("run", "outer.yaml", "--json").outcome(t)
	s.file("cell.yaml", "name: cell\nclients:\n  - {name: a, external: true}\n")
	s.file("outer.yaml", strings.Replace(string(s.read("outer.yaml")), "model: sink, with: {channels: [A]}", "external: true", 1))

	e := s.metasim("validate", "outer.yaml", "--nested-processes")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, `cell.yaml:3:5: clients[0]: client "cell/a" joins from outside`)
	require.Equal(t, 2, s.metasim("run", "outer.yaml", "--nested-processes").status)
	require.Zero(t, s.metasim("validate", "outer.yaml", "--nested").status)

	token := "METASIM_TOKEN=sesame-open"
	p := s.start([]string{token}, "run", "outer.yaml", "--nested", "--json", "--ready-file", "ready", "--transport", "tcp", "--listen", "127.0.0.1:0")
	for _, name := range []string{"ready", "ready.cell"} {
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(s.dir, name)); return err == nil }, patience/2, 5*time.Millisecond, "%s", p.err.String())
	}
	client := func(ready, name string, args ...string) *running {
		env := []string{token, "METASIM_SERVER=" + strings.TrimSpace(string(s.read(ready))), "METASIM_CLIENT=" + name}
		return s.start(env, append([]string{"client"}, args...)...)
	}
	source := []string{"source", "--with", "channel=A", "--with", "period=10ms"}
	require.Contains(t, client("ready", "cell/a", source...).wait().err, "join at the address of the scenario that it is in")
	require.Contains(t, client("ready.cell", "ear", "sink", "--with", "channels=[A]").wait().err, "join at the address of the scenario that it is in")
	a, ear := client("ready.cell", "cell/a", source...), client("ready", "ear", "sink", "--with", "channels=[A]")
	require.Equal(t, want.Digests, p.wait().outcome(t).Digests)
	require.Zero(t, a.wait().status)
	require.Zero(t, ear.wait().status)
}

// A client inside that asks by an expression for what is exposed, or for everything, hears it, and is not told that nobody publishes it.
func TestNestedExpressions(t *testing.T) {
	s := newStage(t)
	s.file("leaf.yaml", "name: leaf\nclients:\n  - {name: s, model: sink, with: {channels: [IN_.*]}}\n  - {name: all, model: sink, with: {channels: [.*]}}\n")
	s.file("top.yaml", "name: top\nuntil: 20ms\nclients:\n  - {name: leaf, model: scenario, with: {file: leaf.yaml, expose: [IN_A]}}\n"+
		"  - {name: src, model: source, with: {channel: IN_A, period: 5ms}}\nlinks: [{delay: 1ms}]\n")
	e := s.metasim("validate", "top.yaml")
	require.Equal(t, "top.yaml is a good scenario\n", e.out)
	require.NotContains(t, e.err, "warning")
	for _, nested := range []string{"--nested=false", "--nested", "--nested-processes"} {
		e := s.metasim("run", "top.yaml", "--strict", nested)
		require.Zero(t, e.status, e.err)
		require.Contains(t, e.out, `leaf/s: {"received":4,`)
		require.NotContains(t, e.out+e.err, "nobody publishes")
	}
	s.file("odd.yaml", strings.Replace(string(s.read("top.yaml")), "channel: IN_A", "channel: OTHER", 1))
	require.Contains(t, s.metasim("run", "odd.yaml").out, "leaf/s subscribes to IN_A")
}
