package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"metasim/client"
)

// forged is a channel whose name clears a terminal, gives it a title, writes from right to left, and looks like a line
// of metasim.
const forged = "A\x1b[2J\x1b]0;owned\x07\u009b31m\u202e\ndigest: 0000"

// hostile publishes on a channel that commands terminals, hears itself there, and leaves with a result of the same kind.
func hostile([]string) error {
	ctx := context.Background()
	b := client.NewBuilder("")
	out := b.Publication(forged)
	if err := b.Subscribe(forged, func(client.Message) error { return nil }); err != nil {
		return err
	}
	c, err := b.Complete(ctx)
	if err != nil {
		return err
	}
	return errors.Join(out.Publish([]byte("\x1b[2J")), c.SetResult(map[string]string{"x\x1b": "\u009b31m\u202e"}), c.Run(ctx))
}

// visible fails if an output has anything that a terminal obeys, or a line that a client has made up.
func visible(t *testing.T, what, out string) {
	t.Helper()
	require.True(t, utf8.ValidString(out), what)
	require.Equal(t, -1, strings.IndexFunc(out, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }), "%s: %q", what, out)
	require.NotContains(t, out, "\ndigest: 0000", what)
}

// Nothing that a client, a scenario or a run directory says is a command to the terminal of who reads it.
func TestTerminalIsNotCommanded(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", `name: c
until: 1s
clients:
  - {name: h, run: ["BIN"], env: [TEST_PROGRAM=hostile]}
  - {name: all, model: sink, with: {channels: [".*", "(?s).*"]}}
links: [{delay: 5ms}]
`)
	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "r", "--keep-env").status)
	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "q", "--set", "links[0].delay=6ms").status)
	s.file("bad.yaml", "name: c\n\"k\\e[2J\\ndigest: 0000\\u202e\": 1\nclients:\n  - {name: \"\\e[2J\", model: \"s\\e[2Jink\", with: {\"\\e[31m\": 1}}\n")
	for _, args := range []string{"run c.yaml", "run c.yaml --json", "run c.yaml --report", "log r", "log r --json", "report r", "report r --json", "diff r q",
		"diff r q --json", "replay r", "replay r --client h", "replay r --client all", "logs r", "logs r --json", "validate bad.yaml",
		"validate bad.yaml --json", "validate c.yaml", "verify c.yaml --runs 2", "report r --what-if link(h->all:\x1b[2J).delay=1s"} {
		e := s.metasim(strings.Fields(args)...)
		visible(t, args, e.out)
		visible(t, args, e.err)
		if strings.HasSuffix(args, "--json") {
			for line := range strings.Lines(e.out) {
				require.True(t, json.Valid([]byte(line)), "%s: %s", args, line)
			}
		}
	}
	e := s.metasim("log", "r")
	require.Contains(t, e.out, `A\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u000adigest: 0000`)
	var o struct {
		Clients []struct{ Result map[string]any }
	}
	s.metasim("run", "c.yaml", "--json").object(t, &o)
	require.Equal(t, map[string]any{"x\x1b": "\u009b31m\u202e"}, o.Clients[1].Result)

	// A manifest is a file that somebody else may have written.
	s.forge("r", `"error": ""`, `"error": "\u001b[2J\u202e"`)
	s.forge("r", `"ok": true`, `"ok": false`)
	for _, args := range []string{"log r", "report r", "diff r q", "replay r", "why --run r"} {
		e := s.metasim(strings.Fields(args)...)
		visible(t, args, e.out)
		visible(t, args, e.err)
	}
}
