package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Runs are removed that have ended, and nothing else.
func TestClean(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	for range 3 {
		s.run("p.yaml")
	}
	s.run("p.yaml", "--set", "name=other")
	at := func(name string) string { return filepath.Join(s.dir, "runs", name) }
	require.NoError(t, os.Mkdir(at("notes"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(at("notes"), "manifest.json"), []byte("{"), 0o644))
	require.NoError(t, os.Symlink(at("ping-pong-1"), at("first")))
	there := func(names ...string) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
		require.NoError(t, err)
		var now []string
		for _, e := range entries {
			now = append(now, e.Name())
		}
		require.Equal(t, names, now)
	}
	all := []string{"first", "notes", "other-1", "ping-pong-1", "ping-pong-2", "ping-pong-3"}

	e := s.metasim("clean", "--dry-run")
	require.Contains(t, e.out, "would be removed: 4 runs, ")
	there(all...)
	e = s.metasim("clean", "--older-than", "1h", "--json")
	var done struct {
		Removed, Kept []string
		Bytes         int
		DryRun        bool `json:"dry_run"`
	}
	e.object(t, &done)
	require.Equal(t, []string{}, done.Removed)
	there(all...)
	e = s.metasim("clean", "--keep", "1", "--json")
	e.object(t, &done)
	require.Equal(t, []string{filepath.Join("runs", "ping-pong-1"), filepath.Join("runs", "ping-pong-2")}, done.Removed)
	require.Positive(t, done.Bytes)
	there("first", "notes", "other-1", "ping-pong-3")

	manifest := filepath.Join(at("ping-pong-3"), "manifest.json")
	require.NoError(t, os.Remove(manifest))
	e = s.metasim("clean")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, "kept "+filepath.Join("runs", "notes")+": its manifest cannot be read; metasim fsck ")
	require.Contains(t, e.out, "; left: 1\n")
	there("first", "notes", "ping-pong-3")
	e = s.metasim("clean", "nowhere")
	require.Equal(t, 2, e.status)
	e.says(t, "nowhere", "name the directory with the runs")
}

// A run that goes on is left alone.
func TestCleanLeavesWhatGoesOn(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", "name: p\nclients:\n  - {name: a, external: true}\n")
	p := s.start(nil, "serve", "p.yaml", "--ready-file", "ready")
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(s.dir, "ready")); return err == nil }, patience, 10*time.Millisecond)
	e := s.metasim("clean")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, "kept "+filepath.Join("runs", "p-1")+": it still goes on, or was cut off")
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	p.wait()
	require.DirExists(t, filepath.Join(s.dir, "runs", "p-1"))
}
