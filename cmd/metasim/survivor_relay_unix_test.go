//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/run"
)

// TestRelayIsKilled: clients outlive their relay, in Go here and in other languages in TestSurvivors.
func TestRelayIsKilled(t *testing.T) {
	s := newStage(t)
	program := []string{embedder(t, "survivor.go.txt")}
	programs := [][]string{program, program, program}
	s.file("serve.yaml", strings.Replace(survivors, "MORE\n", "", 1))
	quiet, _ := s.outlast(programs, []string{"serve", "serve.yaml"}, nil, false)
	for _, transport := range []string{"unix", "quic"} {
		require.Equal(t, quiet.Digests, s.killRelay(programs, transport).Digests, transport)
	}
}

// killRelay carries out a run whose relay is killed twice, and started again at the same address. The clients a and b come back through it, and metasim, which has
// lived on, waits for them. The client c is there without a relay. programs has their commands.
func (s *stage) killRelay(programs [][]string, transport string) (out run.Outcome) {
	s.Helper()
	files := s.TempDir()
	require.NoError(s, os.RemoveAll(filepath.Join(s.dir, "run")))
	p := s.serve("serve.yaml", "--transport", transport, "--out", "run", "--verbose")
	socket := filepath.Join(s.temp, "relay")
	begin := func() *running {
		relay := s.start(nil, "relay", p.url, "--listen", "unix://"+socket, "--ready-file", "near")
		relay.readyURL(filepath.Join(s.dir, "near"))
		require.NoError(s, os.Remove(filepath.Join(s.dir, "near")))
		return relay
	}
	relay := begin()
	var clients []*exec.Cmd
	var output written
	for i, style := range survivorStyles {
		c := exec.CommandContext(s.Context(), programs[i][0], append(slices.Clip(programs[i][1:]), style, files)...)
		c.Env = append(os.Environ(), "METASIM_SERVER=unix://"+socket, "METASIM_TOKEN="+p.token, "METASIM_CLIENT="+"abc"[i:i+1])
		if style == "next" {
			c.Env = append(c.Env, "METASIM_SERVER="+p.url)
		}
		c.Stdout, c.Stderr = &output, &output
		require.NoError(s, c.Start())
		clients = append(clients, c)
	}
	for n, at := range []string{"50", "100"} {
		require.Eventually(s, func() bool { return strings.Count(output.String(), "holds") == n+1 }, patience/2, time.Millisecond)
		require.NoError(s, relay.cmd.Process.Kill())
		require.Equal(s, -1, relay.wait().status, "it was killed while the run went on")
		require.NoError(s, os.WriteFile(filepath.Join(files, at), nil, 0o600))
		require.Eventually(s, func() bool {
			return len(lostServer.FindAllString(output.String(), -1)) == 2*(n+1)
		}, patience/2, 5*time.Millisecond, "not both clients have lost their relay")
		relay = begin()
	}
	e := p.wait()
	e.object(s, &out)
	for _, c := range clients {
		require.NoError(s, c.Wait(), output.String())
	}
	require.Zero(s, relay.wait().status)
	for _, client := range []string{"a", "b"} {
		require.Equal(s, 2, strings.Count(e.err, "awaited client="+client), e.err)
		require.Equal(s, 2, strings.Count(e.err, "came back\" client="+client), e.err)
	}
	require.NotContains(s, e.err, "awaited client=c")
	require.Zero(s, s.metasim("replay", "run").status)
	return out
}

// TestSurvivorsThatJoin: metasim is killed while clients join. Those that had joined come back to the one that is resumed, whether the journal has that or
// not, and the run begins when the last one joins.
func TestSurvivorsThatJoin(t *testing.T) {
	s := newStage(t)
	program := embedder(t, "survivor.go.txt")
	s.file("serve.yaml", strings.Replace(survivors, "MORE\n", "", 1))
	quiet, _ := s.outlast([][]string{{program}, {program}, {program}}, []string{"serve", "serve.yaml"}, nil, false)
	for what, cut := range map[string]int64{"the journal has them": -1, "the journal lacks them": 12, "the journal is empty": 0} {
		t.Run(what, func(t *testing.T) {
			files := t.TempDir()
			for _, at := range []string{"50", "100"} {
				require.NoError(t, os.WriteFile(filepath.Join(files, at), nil, 0o600))
			}
			require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "run")))
			p := s.serve("serve.yaml", "--out", "run")
			var output written
			start := func(i int) *exec.Cmd {
				c := exec.CommandContext(t.Context(), program, survivorStyles[i], files)
				c.Env = append(os.Environ(), "METASIM_SERVER="+p.url, "METASIM_TOKEN="+p.token, "METASIM_CLIENT="+"abc"[i:i+1])
				c.Stdout, c.Stderr = &output, &output
				require.NoError(t, c.Start())
				return c
			}
			clients := []*exec.Cmd{start(0), start(1)}
			require.Eventually(t, func() bool { return joined(t, filepath.Join(s.dir, "run")) == 2 }, patience/2, 10*time.Millisecond)
			require.NoError(t, p.cmd.Process.Kill())
			require.Equal(t, -1, p.wait().status)
			require.Eventually(t, func() bool { return len(lostServer.FindAllString(output.String(), -1)) == 2 }, patience/2, 5*time.Millisecond)
			if path := filepath.Join(s.dir, "run", "journal"); cut >= 0 {
				require.NoError(t, os.Truncate(path, cut))
			}
			resumed := s.start(nil, "resume", "run", "--json")
			clients = append(clients, start(2))
			e := resumed.wait()
			var out run.Outcome
			e.object(s, &out)
			for _, c := range clients {
				require.NoError(t, c.Wait(), output.String())
			}
			require.Equal(t, quiet.Digests, out.Digests)
			require.Zero(t, s.metasim("replay", "run").status)
		})
	}
}

// joined is how many clients have joined, as far as the journal has it.
func joined(t *testing.T, run string) (clients int) {
	dir, err := journal.Open(run)
	require.NoError(t, err)
	r, err := dir.OpenJournal(nil)
	require.NoError(t, err)
	for {
		e, err := r.Next()
		begins := false
		if err == nil {
			_, begins = e.Event.(*metasim.Begin)
		}
		if err != nil || begins { // nobody joins after that, and a run may write faster than this reads
			require.NoError(t, r.Close())
			return clients
		}
		if _, joins := e.Event.(*metasim.Join); joins {
			clients++
		}
	}
}
