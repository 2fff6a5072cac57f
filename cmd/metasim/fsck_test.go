package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record"
)

// fsck says what the commands then do: all is exit status 0, a part is 3, and no is 1 or 2.
func TestFsckForetells(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	s.run("p.yaml", "--out", "good")
	s.run("p.yaml", "--out", "bare", "--no-journal")
	file := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(s.dir, "good", name))
		require.NoError(t, err)
		return b
	}
	flip := func(name string, of int) []byte {
		b := file(name)
		b[len(b)*of/10] ^= 4
		return b
	}
	whole := file("journal")
	for _, c := range []struct {
		name, file string
		content    []byte // nil: the file is removed
		status     int
	}{
		{"whole", "journal", whole, 0},
		{"head", "journal", flip("journal", 0), 1},
		{"middle", "journal", flip("journal", 5), 1},
		{"near the end", "journal", flip("journal", 9), 1},
		{"cut", "journal", whole[:len(whole)/3], 1},
		{"empty", "journal", []byte{}, 1},
		{"none", "journal", nil, 1},
		{"index", "index", flip("index", 5), 1},
		{"no index", "index", nil, 0},
		{"manifest", "manifest.json", flip("manifest.json", 5), 1},
		{"half a manifest", "manifest.json", file("manifest.json")[:700], 1},
		{"no manifest", "manifest.json", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := filepath.Join(t.TempDir(), "run")
			require.NoError(t, os.CopyFS(run, os.DirFS(filepath.Join(s.dir, "good"))))
			require.NoError(t, os.Remove(filepath.Join(run, c.file)))
			if c.content != nil {
				require.NoError(t, os.WriteFile(filepath.Join(run, c.file), c.content, 0o600))
			}
			foretold(t, run, c.status)
		})
	}
	foretold(t, filepath.Join(s.dir, "bare"), 0)
	require.Equal(t, 2, s.metasim("fsck", "nowhere").status)
	require.Equal(t, 2, s.metasim("fsck").status)
	e := s.metasim("fsck", "good")
	require.Regexp(t, `(?m)^journal +whole +\d+ of \d+ bytes, \d+ records, up to \d+ms$`, e.out)
	require.Regexp(t, `(?m)^resume +no +the run in good has ended`, e.out)
}

// forge replaces a text in the manifest of a run, and removes its checksum: a manifest of an earlier version may hold anything.
func (s *stage) forge(run, old, new string) {
	s.Helper()
	file := filepath.Join(s.dir, run, "manifest.json")
	b, err := os.ReadFile(file)
	require.NoError(s, err)
	text := regexp.MustCompile(`(?m)^  "checksum": .*\n`).ReplaceAllString(string(b), "")
	require.Contains(s, text, old)
	require.NoError(s, os.WriteFile(file, []byte(strings.Replace(text, old, new, 1)), 0o600))
}

// foretold examines a run, and holds what is said against what the commands do.
func foretold(t *testing.T, run string, status int) {
	t.Helper()
	got, out, _ := read(t, []string{"fsck", run, "--json"})
	require.Equal(t, status, got, out)
	var h struct {
		Uses []record.Use `json:"commands"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &h))
	commands := map[string][]string{
		"log": {"log", run}, "report": {"report", run}, "replay": {"replay", run}, "diff": {"diff", run, run}, "resume": {"resume", run},
	}
	require.Len(t, h.Uses, len(commands))
	for _, u := range h.Uses {
		status, _, err := read(t, commands[u.Command])
		switch u.Can {
		case "all":
			require.Equal(t, 0, status, "%v: %s", u, err)
		case "part":
			require.Equal(t, asRecorded, status, "%v: %s", u, err)
			require.NotEmpty(t, u.Why)
		default:
			require.Contains(t, []int{1, 2}, status, "%v: %s", u, err)
			require.NotEmpty(t, u.Why)
		}
	}
}
