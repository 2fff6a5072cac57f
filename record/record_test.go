package record_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// edit changes the manifest of a run.
func edit(t *testing.T, dir string, change func(m *journal.Manifest)) {
	t.Helper()
	d, err := journal.Open(dir)
	require.NoError(t, err)
	m, err := d.Manifest()
	require.NoError(t, err)
	change(m)
	require.NoError(t, d.WriteManifest(m))
}

// All that is known of a run is there: its dispatcher can be made again, and repeats every effect.
func TestOpen(t *testing.T) {
	out := carryOut(t, parse(t, lossy))
	r, err := record.OpenToReplay(out.RunDir)
	require.NoError(t, err)
	require.False(t, r.Killed())
	require.Equal(t, out.Digest, r.Manifest.Digest)
	id, err := r.Client("hasty")
	require.NoError(t, err)
	require.Equal(t, "hasty", r.Manifest.Clients[id])
	_, err = r.Client("hasti")
	var unknown *record.UnknownClientError
	require.ErrorAs(t, err, &unknown)
	require.EqualError(t, err, `the run has no client "hasti"; did you mean "hasty"?`)

	sc, err := r.Scenario()
	require.NoError(t, err)
	require.Equal(t, "lossy", sc.Name)
	inside, err := r.InProcess()
	require.NoError(t, err)
	require.ElementsMatch(t, r.Manifest.Clients, inside)
	cores, err := r.Cores()
	require.NoError(t, err)
	require.Equal(t, min(r.Manifest.CPUs, r.Manifest.GoMaxProcs), cores)

	config, err := r.Config()
	require.NoError(t, err)
	d, err := metasim.New(config)
	require.NoError(t, err)
	ledger := metasim.NewLedger(d.Names())
	reader, err := r.OpenJournal()
	require.NoError(t, err)
	for {
		e, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e.Event == nil {
			ledger.Observe(nil, d.Settle())
		} else {
			ledger.Observe(e.Event, d.Step(e.Event))
		}
	}
	require.NoError(t, reader.Close())
	require.Equal(t, out.Digest, ledger.Digest().String())

	index, torn, err := r.Index()
	require.NoError(t, err)
	require.NoError(t, torn)
	require.Len(t, index.Clients, len(r.Manifest.Clients))
}

// Where clients have processes of their own they share the cores of the host.
func TestCoresOfProcesses(t *testing.T) {
	out := carryOut(t, parse(t, lossy))
	edit(t, out.RunDir, func(m *journal.Manifest) { m.Transport, m.CPUs, m.GoMaxProcs = "unix", 7, 3 })
	r, err := record.Open(out.RunDir)
	require.NoError(t, err)
	inside, err := r.InProcess()
	require.NoError(t, err)
	require.Empty(t, inside)
	cores, err := r.Cores()
	require.NoError(t, err)
	require.Equal(t, 7, cores)
}

// A run without a journal or without its scenario can be opened, but not done again.
func TestOpenToReplayRefuses(t *testing.T) {
	_, err := record.OpenToReplay(t.TempDir())
	require.ErrorContains(t, err, "is no run")

	out := carryOut(t, parse(t, lossy))
	resolved := []byte(nil)
	edit(t, out.RunDir, func(m *journal.Manifest) { resolved, m.Resolved = m.Resolved, nil })
	r, err := record.Open(out.RunDir)
	require.NoError(t, err)
	_, err = r.Config()
	require.ErrorContains(t, err, "does not hold its scenario")
	_, err = r.Cores()
	require.ErrorContains(t, err, "does not hold its scenario")
	_, err = record.OpenToReplay(out.RunDir)
	require.ErrorContains(t, err, "does not hold its scenario")

	edit(t, out.RunDir, func(m *journal.Manifest) { m.Resolved = []byte(`{"name":1}`) })
	_, err = record.OpenToReplay(out.RunDir)
	require.ErrorContains(t, err, "the scenario in the manifest of ")

	edit(t, out.RunDir, func(m *journal.Manifest) { m.Resolved, m.NoJournal = resolved, true })
	_, err = record.OpenToReplay(out.RunDir)
	require.ErrorIs(t, err, journal.ErrNoJournal)
}

// What is made from a run lies outside of its directory.
func TestCreateFile(t *testing.T) {
	dir := t.TempDir()
	_, err := record.CreateFile(filepath.Join(dir, "x"), dir)
	require.ErrorContains(t, err, "would lie in the directory of the run")
	_, err = record.CreateFile(filepath.Join(dir, "none", "x"), dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = record.CreateFile(filepath.Join(dir, "x"), filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	out := filepath.Join(t.TempDir(), "x")
	f, err := record.CreateFile(out, dir)
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	require.FileExists(t, out)
}
