//go:build unix

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// watched is a run with everything: messages that are answered, lost, late and for who has left.
const watched = `name: watched
until: 60ms
clients:
  - {name: a, model: source, with: {channel: A, period: 1ms}}
  - {name: all, model: sink, with: {channels: [".*"]}}
  - {name: echo, model: echo, with: {in: A, out: B}}
  - {name: hasty, model: ping, with: {rounds: 2, out: PING, in: A}}
links:
  - {delay: 2ms}
  - {to: all, delay: {uniform: {min: 1ms, max: 9ms}}, loss: 0.2}
`

// An outsider harms a run with the means of a file system. Whole: it is still all there, so that every reader must go on as before.
type outsider struct {
	name   string
	places int // how many random places are tried; 1 where nothing is random
	whole  bool
	harm   func(t *testing.T, r *rand.Rand, run, other string)
}

var outsiders = []outsider{
	{"journal cut", 4, false, func(t *testing.T, r *rand.Rand, run, _ string) {
		b := content(t, run, "journal")
		replace(t, run, "journal", b[:r.IntN(len(b))])
	}},
	{"journal cut, without index", 4, false, func(t *testing.T, r *rand.Rand, run, _ string) {
		b := content(t, run, "journal")
		replace(t, run, "journal", b[:r.IntN(len(b))])
		require.NoError(t, os.Remove(filepath.Join(run, "index")))
	}},
	{"bit of the journal", 4, false, func(t *testing.T, r *rand.Rand, run, _ string) {
		b := content(t, run, "journal")
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		replace(t, run, "journal", b)
	}},
	{"journal goes on", 4, false, func(t *testing.T, r *rand.Rand, run, _ string) {
		replace(t, run, "journal", append(content(t, run, "journal"), make([]byte, 1+r.IntN(50))...))
	}},
	{"manifest cut", 4, false, func(t *testing.T, r *rand.Rand, run, _ string) {
		b := bytes.TrimSpace(content(t, run, "manifest.json"))
		replace(t, run, "manifest.json", b[:r.IntN(len(b))])
	}},
	{"other journal", 1, false, func(t *testing.T, _ *rand.Rand, run, other string) {
		replace(t, run, "journal", content(t, other, "journal"))
	}},
	{"other journal and index", 1, false, func(t *testing.T, _ *rand.Rand, run, other string) {
		replace(t, run, "journal", content(t, other, "journal"))
		replace(t, run, "index", content(t, other, "index"))
	}},
	{"other manifest", 1, false, func(t *testing.T, _ *rand.Rand, run, other string) {
		replace(t, run, "manifest.json", content(t, other, "manifest.json"))
	}},
	{"no journal", 1, false, func(t *testing.T, _ *rand.Rand, run, _ string) {
		require.NoError(t, os.Remove(filepath.Join(run, "journal")))
	}},
	{"no manifest", 1, false, func(t *testing.T, _ *rand.Rand, run, _ string) {
		require.NoError(t, os.Remove(filepath.Join(run, "manifest.json")))
	}},
	{"nothing", 1, false, func(t *testing.T, _ *rand.Rand, run, _ string) { require.NoError(t, os.RemoveAll(run)) }},
	{"a directory or a pipe", 4, false, func(t *testing.T, r *rand.Rand, run, _ string) {
		file := filepath.Join(run, []string{"journal", "manifest.json"}[r.IntN(2)])
		require.NoError(t, os.Remove(file))
		if r.IntN(2) == 0 {
			require.NoError(t, os.Mkdir(file, 0o700))
		} else {
			require.NoError(t, syscall.Mkfifo(file, 0o600))
		}
	}},
	{"permissions", 4, false, func(t *testing.T, r *rand.Rand, run, _ string) {
		if os.Getuid() == 0 { // who may read everything
			require.NoError(t, os.Remove(filepath.Join(run, "journal")))
			return
		}
		require.NoError(t, os.Chmod(filepath.Join(run, []string{"journal", "manifest.json"}[r.IntN(2)]), 0))
	}},
	{"other index", 1, true, func(t *testing.T, _ *rand.Rand, run, other string) {
		replace(t, run, "index", content(t, other, "index"))
	}},
	{"bit of the index", 4, true, func(t *testing.T, r *rand.Rand, run, _ string) {
		b := content(t, run, "index")
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		replace(t, run, "index", b)
	}},
	{"the index is a pipe", 1, true, func(t *testing.T, _ *rand.Rand, run, _ string) {
		require.NoError(t, os.Remove(filepath.Join(run, "index")))
		require.NoError(t, syscall.Mkfifo(filepath.Join(run, "index"), 0o600))
	}},
}

func content(t *testing.T, run, file string) []byte {
	b, err := os.ReadFile(filepath.Join(run, file))
	require.NoError(t, err)
	return b
}

func replace(t *testing.T, run, file string, b []byte) {
	require.NoError(t, os.WriteFile(filepath.Join(run, file), b, 0o600))
}

// TestOutsider harms a run in random places, as who cannot compute a checksum would. Every command that reads runs ends soon, says
// something, and does not end with 0 where the run is not whole; where it is, it ends with 0.
func TestOutsider(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "watched.yaml")
	require.NoError(t, os.WriteFile(file, []byte(watched), 0o600))
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, seed := range map[string]string{"run": "1", "twin": "1", "other": "2"} {
		status, _, err := read(t, []string{"run", file, "--out", at(name), "--seed", seed})
		require.Zero(t, status, err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	var harmed []outsider
	for _, o := range outsiders {
		harmed = append(harmed, slices.Repeat([]outsider{o}, o.places)...)
	}
	for _, o := range harmed {
		run, files := filepath.Join(t.TempDir(), "run"), t.TempDir()
		require.NoError(t, os.CopyFS(run, os.DirFS(at("run"))))
		o.harm(t, r, run, at("other"))
		for _, args := range append(readers(run, files), []string{"diff", at("twin"), run}, []string{"diff", run, at("twin"), "--json"}) {
			if args[0] == "diff" && args[1] != at("twin") && args[2] != at("twin") {
				continue // with the run of another test
			}
			status, out, err := read(t, args)
			if o.whole {
				require.Zero(t, status, "%s: metasim %v: %s%s", o.name, args, out, err)
				continue
			}
			require.Contains(t, []int{1, 2, asRecorded}, status, "%s: metasim %v: %s%s", o.name, args, out, err)
			require.NotContains(t, out, "\nequal\n")
		}
	}
}
