package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/record"
	"metasim/run"
)

// What cannot be the same twice is not verified.
func TestVerifyRefuses(t *testing.T) {
	_, err := run.Verify(t.Context(), parse(t, "name: x\nclients:\n  - {name: e, external: true}\n"), 2, run.Transports, options(t, "mem"))
	var refused *run.UnverifiableError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "e", refused.Client)
	require.ErrorContains(t, err, `client "e" is external`)
	_, err = run.Verify(t.Context(), parse(t, `name: x
until: 1s
rate: 1
clients:
  - {name: b, model: bridge, with: {url: "tcpq://127.0.0.1:1", out: [A]}}
  - {name: s, model: source, with: {channel: A, period: 1ms}}
`), 2, run.Transports, options(t, "mem"))
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "b", refused.Client)
	require.ErrorContains(t, err, `client "b" takes part in real time`)
}

// ownTemp makes a directory for the temporary files of the product alone.
func ownTemp(t *testing.T) string {
	t.TempDir() // the test's own files are elsewhere from now on
	temp := shortdir.Make(t)
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp) // the same on Windows
	return temp
}

// Runs over all transports are the same, also where clients share a process, and leave nothing.
func TestVerifyEqual(t *testing.T) {
	temp := ownTemp(t)
	v, err := run.Verify(t.Context(), parse(t, twoSources), len(run.Transports), run.Transports, options(t, "mem"))
	require.NoError(t, err)
	require.True(t, v.Equal, "%+v", v)
	require.Len(t, v.Runs, len(run.Transports))
	require.Equal(t, 8, v.Runs[1].Pack)
	for i, r := range v.Runs {
		require.Equal(t, run.Transports[i], r.Transport)
		require.Equal(t, v.Digest, r.Digest)
		require.Empty(t, r.RunDir)
	}
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Where runs differ the first message in which they do is named, and they are kept.
func TestVerifyUnequal(t *testing.T) {
	ownTemp(t)
	v, err := run.Verify(t.Context(), parse(t, withCommand("liar", "x", "")), 3, run.Transports, options(t, "mem"))
	require.NoError(t, err)
	require.False(t, v.Equal)
	require.Contains(t, v.Divergence, "prog to sink on LIES")
	require.Contains(t, v.Divergence, `"1"`)
	require.Contains(t, v.Divergence, `"2"`)
	require.DirExists(t, v.Runs[0].RunDir)
}

// A verification that is stopped says why, and leaves nothing.
func TestVerifyStopped(t *testing.T) {
	o := options(t, "mem") // its directory is not in temp
	temp := shortdir.Make(t)
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	_, err := run.Verify(ctx, parse(t, twoSources), 2, run.Transports, o)
	require.ErrorIs(t, err, stop)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// To verify is to say where runs part, for which journals are needed, whatever the options say.
func TestVerifyKeepsJournals(t *testing.T) {
	temp := ownTemp(t)
	o := options(t, "mem")
	o.NoJournal = true
	v, err := run.Verify(t.Context(), parse(t, `name: endless
clients:
  - {name: ring, model: ring, with: {in: X, out: X, first: true}}
until: 1s
max_steps: 10
`), 2, run.Transports, o)
	require.NoError(t, err)
	require.Contains(t, v.Error, "run 1 (mem, kept in ")
	kept, err := filepath.Glob(filepath.Join(temp, "*", "1"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	l, err := record.ReadLog(kept[0])
	require.NoError(t, err)
	require.NotEmpty(t, l.Messages)
}
