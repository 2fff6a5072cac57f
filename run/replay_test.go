package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/record"
	"metasim/run"
)

// A client of a recorded run is replayed by what ran then, a model or a command, or by another command.
func TestReplayClient(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	how := options(t, "mem")
	how.KeepEnv = true
	out := carryOut(t, parse(t, withCommand("liar", "x", "")), how)
	r, err := record.OpenToReplay(out.RunDir)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	o := run.ReplayOptions{}
	for _, name := range []string{"prog", "sink"} {
		c, err := run.ReplayClient(t.Context(), r, name, o)
		require.NoError(t, err)
		require.Nil(t, c.Difference)
	}
	o.Command, o.Env = []string{self}, []string{testprogram.Env("liar"), "GOMAXPROCS=2"}
	c, err := run.ReplayClient(t.Context(), r, "prog", o)
	require.NoError(t, err)
	require.ErrorContains(t, c.Difference, `message 0 of "prog" is not what it was`)
	o.Command = []string{self + "-is-not-there"}
	_, err = run.ReplayClient(t.Context(), r, "prog", o)
	require.ErrorContains(t, err, "no such file")
	_, err = run.ReplayClient(t.Context(), r, "pig", o)
	require.ErrorContains(t, err, "pig")
}

// Nothing of a client that somebody else started says how to start it again.
func TestReplayExternal(t *testing.T) {
	o := options(t, "unix")
	o.Serve = true
	out := serve(t, o)
	r, err := record.OpenToReplay(out.RunDir)
	require.NoError(t, err)
	c, err := run.ReplayClient(t.Context(), r, "k", run.ReplayOptions{})
	require.NoError(t, err, "the scenario names a model, whoever started it")
	require.Nil(t, c.Difference)
}

// A client is told its part in the scenario, the same in a replay, but for the run directory: a replay has none.
func TestTold(t *testing.T) {
	how := options(t, "mem")
	how.KeepEnv = true
	out := carryOut(t, parse(t, withCommand("told", "x", ", count: 2, with: {mass: 3.5, wheels: [1, big]}")), how)
	for i, name := range []string{"prog-0", "prog-1"} {
		require.FileExists(t, filepath.Join(out.RunDir, name))
		require.JSONEq(t, fmt.Sprintf(`{"Scenario": "commanded", "Seed": 0, "Entry": "prog", "Index": %d, "Count": 2, "With": {"mass": 3.5, "wheels": [1, "big"]}, "Directory": ""}`, i),
			string(out.Clients[i].Result))
		require.NoError(t, os.Remove(filepath.Join(out.RunDir, name)))
		r, err := record.OpenToReplay(out.RunDir)
		require.NoError(t, err)
		c, err := run.ReplayClient(t.Context(), r, name, run.ReplayOptions{})
		require.NoError(t, err)
		require.Nil(t, c.Difference)
		require.NoFileExists(t, filepath.Join(out.RunDir, name))
	}
}
