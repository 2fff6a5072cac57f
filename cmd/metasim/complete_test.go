package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/catalog"
	"metasim/run"
)

// offered is what a shell is offered for the last of these words.
func (s *stage) offered(words ...string) (offered []string) {
	s.Helper()
	e := s.metasim(append([]string{"__complete"}, words...)...)
	require.Equal(s, 0, e.status, e.err)
	for line := range strings.Lines(e.out) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		offered = append(offered, word)
	}
	return offered[:len(offered)-1] // the last line says what the shell may add
}

// A shell completes what only this program knows: models, their parameters, transports, runs and clients.
func TestCompletions(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Empty(t, s.offered("log", ""), "there is no run yet")
	s.run("p.yaml")
	s.run("p.yaml")
	var models []string
	for _, m := range catalog.Models() {
		models = append(models, m.Name)
	}
	require.Equal(t, models, s.offered("client", ""))
	require.Equal(t, []string{"out=", "in=", "rounds=", "size="}, s.offered("client", "ping", "--with", ""))
	require.Equal(t, run.Transports, s.offered("run", "--transport", ""))
	require.Equal(t, run.Transports[1:], s.offered("serve", "--transport", ""))
	require.NotContains(t, s.offered("verify", "--transport", "unix,"), "unix,unix")
	require.Contains(t, s.offered("verify", "--transport", "unix,"), "unix,tcp")
	runs := []string{filepath.Join("runs", "ping-pong-2"), filepath.Join("runs", "ping-pong-1")}
	require.ElementsMatch(t, runs, s.offered("report", ""))
	require.ElementsMatch(t, runs, s.offered("diff", runs[0], ""))
	clients := []string{"pinger", "ponger"}
	require.Equal(t, clients, s.offered("logs", runs[0], ""))
	require.Equal(t, clients, s.offered("replay", runs[0], "--client", ""))
	require.Equal(t, clients, s.offered("why", ""))
	require.Contains(t, s.offered("run", "p.yaml", "--set", ""), "clients.pinger.with.rounds=")
	require.Equal(t, []string{"yaml", "json"}, s.offered("run", ""), "the endings of files")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		require.Contains(t, s.metasim("completion", shell).out, "__complete")
	}
}

// The manual has a page for each command with each of its flags, and one for the models; and man finds nothing wrong in it.
func TestManual(t *testing.T) {
	s := newStage(t)
	require.Equal(t, 0, s.metasim("man", "man").status)
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(s.dir, "man", name))
		require.NoError(t, err)
		return strings.ReplaceAll(string(text), `\-`, "-")
	}
	for _, command := range []string{"run", "serve", "verify", "report", "ctl-until", "lcm-cat", "completion-bash"} {
		help := s.metasim(append(strings.Split(command, "-"), "--help")...).out
		text := page("metasim-" + command + ".1")
		for line := range strings.Lines(help) {
			if _, flag, found := strings.Cut(line, "  --"); found && strings.HasPrefix(strings.TrimSpace(line), "--") {
				require.Contains(t, text, `\fB--`+strings.Fields(flag)[0], command)
			}
		}
		require.Contains(t, page("metasim.1")+page("metasim-ctl.1")+page("metasim-lcm.1")+page("metasim-completion.1"), ".BR metasim-"+command+" (1)")
	}
	for _, m := range catalog.Models() {
		require.Contains(t, page("metasim-models.7"), ".SS "+m.Name)
		for _, p := range m.Params {
			require.Contains(t, page("metasim-models.7"), ".B "+p.Name)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no groff, so nobody but this test has read the pages of the manual; install groff-base")
	}
	pages, err := filepath.Glob(filepath.Join(s.dir, "man", "*"))
	require.NoError(t, err)
	var said bytes.Buffer
	format := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...)
	format.Stderr = &said
	require.NoError(t, format.Run())
	require.NotRegexp(t, `(?i)warning: (macro|escape|font|string|number|register)`, said.String())
}
