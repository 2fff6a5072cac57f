package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record/replay"
	"metasim/run"
)

// TestInside: models that are to run in this process do so over every transport, also when a run goes on that was cut off. Nothing else changes.
func TestInside(t *testing.T) {
	t.Parallel()
	text := `name: inside
until: 30ms
clients:
  - {name: ear, model: sink, with: {channels: [TICK, PONG]}}
  - {name: ping, model: ping, with: {rounds: 5, out: PING, in: PONG}}
  - {name: pong, model: echo, with: {in: PING, out: PONG}}
  - {name: tick, model: source, with: {channel: TICK, period: 3ms}}
links:
  - {delay: 1ms}
`
	quiet := carryOut(t, parse(t, text), options(t, "mem"))
	o := options(t, "unix")
	o.Inside = []string{"ear", "ping"}
	out := carryOut(t, parse(t, text), o)
	require.Equal(t, quiet.Digests, out.Digests)
	require.Equal(t, []string{"pong", "tick"}, processesOf(t, out.RunDir))

	whole, err := os.ReadFile(filepath.Join(out.RunDir, "journal"))
	require.NoError(t, err)
	cutShort(t, out.RunDir, whole[:len(whole)/2])
	require.NoError(t, os.RemoveAll(filepath.Join(out.RunDir, "clients")))
	again := resume(t, out.RunDir)
	require.NoError(t, again.Err)
	require.Equal(t, quiet.Digests, again.Digests)
	started := processesOf(t, out.RunDir) // those that had not left, as far as this half of the journal knows
	require.NotEmpty(t, started)
	require.Subset(t, []string{"pong~resumed-1", "tick~resumed-1"}, started)
	a, err := replay.Dispatcher(recorded(t, out.RunDir))
	require.NoError(t, err)
	require.Nil(t, a.Difference)

	o = options(t, "unix")
	o.Inside = []string{"nobody"}
	_, err = run.Scenario(t.Context(), parse(t, text), o)
	require.EqualError(t, err, `Options.Inside names client "nobody", which is no built-in model of scenario inside; name one that is`)
}

// processesOf returns the clients that had processes, as these have files for their output.
func processesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "clients"))
	require.NoError(t, err)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".stdout"); ok {
			names = append(names, name)
		}
	}
	return names
}
