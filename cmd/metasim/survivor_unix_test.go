//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/run"
)

const survivors = `name: survivors
until: 150ms
clients:
  - {name: a, external: true}
  - {name: b, external: true}
  - {name: c, external: true}
MORE
links:
  - {delay: {uniform: {min: 500us, max: 2ms}}, order: fifo}
`

// The styles of the clients a, b and c.
var survivorStyles = []string{"run", "step", "next"}

// outlast begins a run, and starts its clients elsewhere, of which one holds at 50 and at 100 ms. There metasim is killed, if it is to be, and resumed. It returns the
// outcome, and what the clients have said.
func (s *stage) outlast(program string, args []string, kills []string) (out run.Outcome, said string) {
	s.Helper()
	files := s.TempDir()
	release := func(ms string) { require.NoError(s, os.WriteFile(filepath.Join(files, ms), nil, 0o600)) }
	if kills == nil {
		release("50")
		release("100")
	}
	require.NoError(s, os.RemoveAll(filepath.Join(s.dir, "run")))
	const token = "a-token-of-which-nobody-tells-metasim-resume"
	p := s.start([]string{"METASIM_TOKEN=" + token}, append(args, "--out", "run", "--ready-file", "ready", "--json")...)
	var url []byte
	for len(url) == 0 {
		<-time.After(5 * time.Millisecond)
		url, _ = os.ReadFile(filepath.Join(s.dir, "ready")) // until it is there
	}
	require.NoError(s, os.Remove(filepath.Join(s.dir, "ready")))
	var clients []*exec.Cmd
	var output written
	for i, style := range survivorStyles {
		c := exec.CommandContext(s.Context(), program, style, files)
		c.Env = append(os.Environ(), "METASIM_SERVER="+strings.TrimSpace(string(url)), "METASIM_TOKEN="+token, "METASIM_CLIENT="+"abc"[i:i+1])
		c.Stdout, c.Stderr = &output, &output
		require.NoError(s, c.Start())
		clients = append(clients, c)
	}
	for n, at := range kills {
		require.Eventually(s, func() bool { return strings.Count(output.String(), "holds") == n+1 }, patience/2, time.Millisecond)
		require.NoError(s, p.cmd.Process.Kill())
		require.Equal(s, -1, p.wait().status, "it was killed while the run went on")
		release(at)
		require.Eventually(s, func() bool { // over QUIC a client does not see that its server has died if another one has its port at once
			return strings.Count(output.String(), "lost its server") == (n+1)*len(clients)
		}, patience/2, 5*time.Millisecond, output.String())
		p = s.start(nil, "resume", "run", "--json", "--verbose")
	}
	e := p.wait()
	e.object(s, &out)
	for _, c := range clients {
		require.NoError(s, c.Wait(), output.String())
	}
	require.Equal(s, 0, e.status)
	return out, output.String() + e.err
}

// TestSurvivors: clients of others outlive metasim, which is killed twice, and come back to the one that is resumed. The run ends as one that was not
// disturbed.
func TestSurvivors(t *testing.T) {
	s := newStage(t)
	program := embedder(t, "survivor.go.txt")
	s.file("run.yaml", strings.Replace(survivors, "MORE", "  - {name: tick, model: source, with: {channel: TICK, period: 1ms}}", 1))
	s.file("serve.yaml", strings.Replace(survivors, "MORE\n", "", 1))
	for _, args := range [][]string{{"run", "run.yaml"}, {"serve", "serve.yaml", "--transport", "tcp"}, {"serve", "serve.yaml", "--transport", "quic"}} {
		quiet, said := s.outlast(program, args, nil)
		require.NotContains(t, said, "lost its server")
		out, said := s.outlast(program, args, []string{"50", "100"})
		require.Equal(t, quiet.Digests, out.Digests, args)
		for _, name := range []string{"a", "b", "c"} {
			require.Equal(t, 2, strings.Count(said, `metasim: client "`+name+`" lost its server at `), said)
			require.Contains(t, said, "came back")
			require.Contains(t, said, "client="+name+" messages_that_the_journal_lacks=")
		}
		left, err := os.ReadDir(filepath.Join(s.dir, "run"))
		require.NoError(t, err)
		for _, file := range left {
			text, err := os.ReadFile(filepath.Join(s.dir, "run", file.Name()))
			require.NoError(t, err)
			require.False(t, bytes.Contains(text, []byte("a-token-of-which")), file.Name())
		}
		e := s.metasim("replay", "run")
		require.Equal(t, 0, e.status, e.err)
	}
	s.clean()
}
