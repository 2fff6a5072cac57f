package journal

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

func manifest() *Manifest {
	return &Manifest{
		Scenario: "ping-pong", Resolved: json.RawMessage(`{"name":"ping-pong","seed":1}`), Seed: 1<<64 - 1,
		Until: 2 * metasim.Second, MaxSteps: 1000, Clients: []string{"pinger", "ponger"}, Transport: "unix",
		Go: "go1.26", Metasim: "v0.1.0", OS: "linux", Arch: "arm64", CPUs: 8, GoMaxProcs: 4, Host: "lab-7", Command: []string{"metasim", "run", "a b"},
		Started:       time.Date(2026, 11, 21, 13, 30, 0, 5000, time.UTC),
		Deterministic: true, OK: true, Error: "", Digests: Digests{Digest: strings.Repeat("ab", 32)},
		Traffic: &Traffic{FramesIn: 1, FramesOut: 2, BytesIn: 3, BytesOut: 4, Wakeups: 5, RoundsS: 0.25},
	}
}

func TestAManifestIsReadAsItWasWritten(t *testing.T) {
	d, err := Create(filepath.Join(t.TempDir(), "a", "run"))
	require.NoError(t, err)
	begun := manifest()
	begun.OK, begun.Digest, begun.Error = false, "", "the run has not ended"
	for _, m := range []*Manifest{begun, manifest()} {
		require.NoError(t, d.WriteManifest(m))
		got, err := d.Manifest()
		require.NoError(t, err)
		assert.JSONEq(t, string(m.Resolved), string(got.Resolved))
		got.Resolved = m.Resolved
		assert.Equal(t, m, got)
	}
	files, err := os.ReadDir(d.Path())
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing is left of the writing")
	text, err := os.ReadFile(d.File(manifestFile))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"started": "2026-11-21T13:30:00.000005Z"`)
	assert.Contains(t, string(text), `"until_ns": 2000000000`)
}

func TestAManifestThatCannotBeWrittenLeavesTheOldOne(t *testing.T) {
	d, err := Create(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, d.WriteManifest(manifest()))
	bad := manifest()
	bad.Resolved = json.RawMessage("{")
	require.ErrorContains(t, d.WriteManifest(bad), "writing the manifest")
	got, err := d.Manifest()
	require.NoError(t, err)
	assert.Equal(t, "ping-pong", got.Scenario)
	require.ErrorIs(t, Dir{path: filepath.Join(d.Path(), "none")}.WriteManifest(manifest()), fs.ErrNotExist)
}

// A reader sees one manifest or the other while it is replaced.
func TestAManifestIsReplacedAtOnce(t *testing.T) {
	d, err := Create(t.TempDir())
	require.NoError(t, err)
	long, short := manifest(), manifest()
	long.Error = strings.Repeat("x", 100_000)
	require.NoError(t, d.WriteManifest(long))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			assert.NoError(t, d.WriteManifest(short))
			assert.NoError(t, d.WriteManifest(long))
		}
	}()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		m, err := d.Manifest()
		require.NoError(t, err)
		require.Contains(t, []int{0, 100_000}, len(m.Error))
	}
}

func TestCreateWantsADirectoryOfItsOwn(t *testing.T) {
	root := t.TempDir()
	_, err := Create(root)
	require.NoError(t, err, "an empty one will do")
	require.NoError(t, os.WriteFile(filepath.Join(root, "thesis.tex"), nil, 0o600))
	_, err = Create(root)
	require.ErrorContains(t, err, "is not empty; a run needs a directory of its own, so name another")
	_, err = Create(filepath.Join(root, "thesis.tex"))
	require.ErrorContains(t, err, "the directory of the run cannot be made")
}

func TestNextDirCountsOn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	next := func(name string) string {
		d, err := NextDir(root, name)
		require.NoError(t, err)
		return filepath.Base(d.Path())
	}
	assert.Equal(t, "a-1", next("a"))
	assert.Equal(t, "a-2", next("a"))
	assert.Equal(t, "a-b-1", next("a-b"))
	for _, other := range []string{"a-x", "a-07", "a--3", "b-9"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, other), 0o755))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(root, "a-1")))
	assert.Equal(t, "a-3", next("a"), "a number is not used again while a later one is there")
	require.NoError(t, os.Mkdir(filepath.Join(root, "a-10"), 0o755))
	assert.Equal(t, "a-11", next("a"))
	for _, bad := range []string{"", ".", "..", "a/b", "../a", "/a"} {
		_, err := NextDir(root, bad)
		assert.ErrorContains(t, err, "a run cannot be called", "%q", bad)
	}
}

func TestNextDirGivesEachItsOwn(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	paths := map[string]bool{}
	for range 32 {
		wg.Go(func() {
			d, err := NextDir(root, "run")
			mu.Lock()
			defer mu.Unlock()
			assert.NoError(t, err)
			paths[d.Path()] = true
		})
	}
	wg.Wait()
	assert.Len(t, paths, 32)
}

// A run that was to have no journal says so; one that has lost its journal does not.
func TestNoJournal(t *testing.T) {
	d, err := Create(t.TempDir())
	require.NoError(t, err)
	for _, intended := range []bool{true, false} {
		require.NoError(t, d.WriteManifest(&Manifest{NoJournal: intended}))
		_, err = Open(d.Path())
		require.NoError(t, err)
		_, opening := d.OpenJournal(nil)
		_, _, indexing := d.Index(nil)
		_, scanning := d.Scan(0)
		for _, err := range []error{opening, indexing, scanning} {
			require.Equal(t, intended, errors.Is(err, ErrNoJournal), "%v", err)
			require.Equal(t, !intended, errors.Is(err, fs.ErrNotExist), "%v", err)
		}
	}
}

func TestAJournalInItsDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	_, err := Open(path)
	require.ErrorContains(t, err, "is no run: it has neither manifest.json nor journal")
	d, err := Create(path)
	require.NoError(t, err)
	w, err := d.NewJournal([]string{"a", "b"})
	require.NoError(t, err)
	for _, e := range story() {
		require.NoError(t, w.Observe(e.Wall, e.Event, e.Effects))
	}
	require.NoError(t, w.Close())
	_, err = d.NewJournal([]string{"a", "b"})
	require.ErrorIs(t, err, fs.ErrExist, "a journal is never overwritten")

	d, err = Open(path)
	require.NoError(t, err)
	_, err = d.Manifest()
	require.ErrorIs(t, err, fs.ErrNotExist)
	for text, want := range map[string]string{"[]": "is not a manifest: it is a JSON array; name", `{"clients": 5}`: "is not a manifest: clients is a JSON number; name"} {
		require.NoError(t, os.WriteFile(d.File(manifestFile), []byte(text), 0o600))
		_, err = d.Manifest()
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(d.File(manifestFile), []byte("{}}"), 0o600))
	_, err = d.Manifest()
	require.ErrorContains(t, err, "is not a manifest")

	r, err := d.OpenJournal(nil)
	require.NoError(t, err)
	var got []Entry
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		got = append(got, e)
	}
	require.NoError(t, r.Close())
	assert.Equal(t, story(), got)
}
