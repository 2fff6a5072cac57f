package run_test

import (
	"os"
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
	o := run.ReplayOptions{Env: []string{testprogram.NoLinger}}
	for _, name := range []string{"prog", "sink"} {
		c, err := run.ReplayClient(t.Context(), r, name, o)
		require.NoError(t, err)
		require.Nil(t, c.Difference)
	}
	o.Command, o.Env = []string{self}, append(o.Env, testprogram.Env("liar"), "GOMAXPROCS=2")
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
