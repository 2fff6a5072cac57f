package export

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record"
	"metasim/record/journal"
)

// Both files of a run are those that the sinks write, and get their names only when they are complete.
func TestFiles(t *testing.T) {
	dir := carryOut(t, parse(t, mixed), "mem", 0)
	run, err := record.Open(dir)
	require.NoError(t, err)
	place := t.TempDir()
	o := Options{Log: filepath.Join(place, "x.lcmlog"), MCAP: filepath.Join(place, "x.mcap")}
	files, err := Open(run, o)
	require.NoError(t, err)
	require.NoFileExists(t, o.Log)
	counts := map[string]Count{}
	torn, err := files.Write(func(path string, c Count) { counts[path] = c })
	require.NoError(t, err)
	require.NoError(t, files.Discard())
	require.NoError(t, torn)
	require.Positive(t, counts[o.Log].Messages)
	require.Positive(t, counts[o.MCAP].Messages)
	log, err := os.ReadFile(o.Log)
	require.NoError(t, err)
	require.Equal(t, written(t, dir, "lcmlog"), log)
	left, err := os.ReadDir(place)
	require.NoError(t, err)
	require.Len(t, left, 2)
}

// An export that cannot begin, or is not written, leaves nothing.
func TestFilesLeaveNothing(t *testing.T) {
	dir := carryOut(t, parse(t, mixed), "mem", 0)
	run, err := record.Open(dir)
	require.NoError(t, err)
	place := t.TempDir()
	at := func(name string) string { return filepath.Join(place, name) }
	for _, c := range []struct {
		o    Options
		says string
	}{
		{Options{Log: filepath.Join(dir, "x")}, "would lie in the directory of the run"},
		{Options{Log: at("x"), Client: "alll"}, `did you mean "all"?`},
		{Options{Log: at("x"), MCAP: at("y"), Client: "alll"}, `did you mean "all"?`},
		{Options{Log: at("x"), MCAP: at("y"), Types: []string{at("none")}}, "none"},
		{Options{Log: at("x"), MCAP: filepath.Join(dir, "y")}, "would lie in the directory of the run"},
	} {
		_, err := Open(run, c.o)
		require.ErrorContains(t, err, c.says)
	}
	files, err := Open(run, Options{Log: at("x")})
	require.NoError(t, err)
	require.NoError(t, files.Discard())
	left, err := os.ReadDir(place)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, os.Remove(filepath.Join(dir, "journal")))
	_, err = Open(run, Options{Log: at("x")})
	require.ErrorContains(t, err, "has no journal any more")
	run.Manifest.NoJournal = true
	require.NoError(t, run.Dir.WriteManifest(run.Manifest))
	_, err = Open(run, Options{Log: at("x")})
	require.ErrorIs(t, err, journal.ErrNoJournal)
}
