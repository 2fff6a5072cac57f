package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a new user gets wrong, and what somebody means badly: each is told in a sentence, at once.
func TestBadScenario(t *testing.T) {
	s := newStage(t)
	sink := "  - {name: s, model: sink, with: {channels: [\".*\"]}}\n"
	var bomb strings.Builder
	bomb.WriteString("name: x\na: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'p'; c++ {
		bomb.WriteString(strings.NewReplacer("N", string(c), "O", string(c-1)).Replace("N: &N [*O,*O,*O,*O,*O,*O,*O,*O]\n"))
	}
	for name, c := range map[string]struct{ text, says string }{
		"unknown key":      {"name: x\nsead: 1\nclients:\n" + sink, `did you mean "seed"?`},
		"tab":              {"name: x\nclients:\n\t- name: a\n", "indent with spaces"},
		"bomb":             {bomb.String(), "anchor (&) is not used"},
		"deep":             {"name: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "nests deeper"},
		"outside":          {"name: x\nclients:\n  - {name: p, model: lcmlog, with: {file: ../../etc/passwd}}\n" + sink, "lies outside"},
		"absolute":         {"name: x\nclients:\n  - {name: p, model: lcmlog, with: {file: /etc/passwd}}\n" + sink, "lies outside"},
		"link outside":     {"name: x\nclients:\n  - {name: p, model: lcmlog, with: {file: link}}\n" + sink, "lies outside"},
		"no command":       {"name: x\nclients:\n  - {name: p, run: [frobnicate-it]}\n" + sink, "in PATH; install it"},
		"two of one name":  {"name: x\nclients:\n" + sink + sink, "a name is unique"},
		"never ends":       {"name: x\nclients:\n  - {name: p, model: source, with: {channel: A, period: 1s}}\n" + sink, "until"},
		"binary":           {"name: \x00\xff\xfe", "plain text"},
		"empty":            {"", "is empty"},
		"name of a path":   {"name: ../../x\nclients:\n" + sink, "name"},
		"huge number":      {"name: x\nseed: 99999999999999999999999999\nclients:\n" + sink, "seed"},
		"many clients":     {"name: x\nclients:\n  - {name: s, count: 2000000000, model: sink, with: {channels: [A]}}\n", "count"},
		"a unit forgotten": {"name: x\nuntil: 5\nclients:\n" + sink, "5s"},
		"delay no bound": {"name: x\nclients:\n" + sink +
			"links:\n  - {delay: {normal: {mean: 1ms, stddev: 1ms}}}\n", "min"},
	} {
		t.Run(name, func(t *testing.T) {
			sub := *s
			sub.T = t
			sub.file("x.yaml", c.text)
			require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "link")))
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(s.dir, "link")))
			began := time.Now()
			for _, args := range [][]string{{"validate", "x.yaml"}, {"run", "x.yaml"}, {"serve", "x.yaml"}, {"verify", "x.yaml"}} {
				e := sub.metasim(args...)
				require.Equal(t, 2, e.status)
				require.Empty(t, e.out)
				require.Contains(t, e.err, c.says)
				require.Regexp(t, `^x\.yaml:`, e.err)
			}
			require.Less(t, time.Since(began), patience/4)
		})
	}
	_, err := os.Stat(filepath.Join(s.dir, "runs"))
	require.ErrorIs(t, err, os.ErrNotExist, "what cannot run leaves no run")
	s.clean()
}

func TestStartTimeout(t *testing.T) {
	s := newStage(t)
	s.file("x.yaml", `name: x
start_timeout: 200ms
clients:
  - {name: early, model: sink, with: {channels: [".*"]}}
  - {name: late, external: true}
  - {name: later, external: true}
`)
	o, e := s.run("x.yaml")
	require.Equal(t, 1, e.status)
	require.Equal(t, "late, later have not joined after 200ms; start the client, check its server address and token, or raise "+
		"start_timeout", o.Error)
	require.Equal(t, []string{"aborted", "absent", "absent"}, []string{o.Clients[0].Exit, o.Clients[1].Exit, o.Clients[2].Exit})
	s.clean()
	e = s.metasim("verify", "x.yaml")
	require.Equal(t, 2, e.status)
	e.says(t, `"late" is external`)
}
