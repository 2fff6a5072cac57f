package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A world is drawn at the instants that are asked for, with who moves what, and its states are those of a world that nobody draws.
func TestWorldIsDrawn(t *testing.T) {
	s := newStage(t)
	s.file("w.sdf", strings.ReplaceAll(roomy, "SHAPE", "<box><size>8 8 8</size></box>"))
	var plain, drawn worldOutcome
	e := s.metasim("world", "run", "w.sdf", "--iterations", "60", "--out", "plain", "--json")
	require.NoError(t, json.Unmarshal([]byte(e.out), &plain))
	e = s.metasim("world", "run", "w.sdf", "--iterations", "60", "--secondaries", "2", "--runtimes", "mem", "--map", "maps", "--map-png", "--map-every", "200ms", "--reset", "40", "--out", "drawn", "--json")
	require.Zero(t, e.status, e.err)
	assert.Empty(t, e.err)
	require.NoError(t, json.Unmarshal([]byte(e.out), &drawn))
	page, err := os.ReadFile(filepath.Join(s.dir, "maps", "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "All 5 instants are here.", "steps 1, 20, 40, and after the reset 1 and 20")
	last, err := os.ReadFile(filepath.Join(s.dir, "maps", "map-00002.svg"))
	require.NoError(t, err)
	for _, words := range []string{"0.400 s, iteration 40", "p, moved by secondary-1<", "secondary-2 has a copy of p<", "east is loaded, at secondary-2"} {
		assert.Contains(t, string(last), words)
	}
	pictures, err := filepath.Glob(filepath.Join(s.dir, "maps", "map-0000?.png"))
	require.NoError(t, err)
	assert.Len(t, pictures, 5)
	again, err := os.ReadFile(filepath.Join(s.dir, "maps", "map-00004.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(again), "0.200 s, iteration 20")
	assert.Equal(t, 1, strings.Count(string(again), ",346.0 "), "the trail begins at the reset")
	e = s.metasim("world", "run", "w.sdf", "--iterations", "60", "--map", "maps-alone", "--out", "alone", "--json")
	require.NoError(t, json.Unmarshal([]byte(e.out), &drawn))
	assert.Equal(t, plain.StateHash, drawn.StateHash)
	for want, args := range map[string][]string{
		`--map-every is "0s"; write a duration above 0`:  {"--map", "m", "--map-every", "0s"},
		"name the directory for the drawings with --map": {"--map-every", "1s"},
		"name the directory for them with --map":         {"--map-png"},
	} {
		e := s.metasim(append([]string{"world", "run", "w.sdf", "--iterations", "5"}, args...)...)
		assert.Equal(t, 2, e.status)
		assert.Contains(t, e.err, want)
	}
}

// By default a run has about a hundred maps, and one a second at least.
func TestMapPeriods(t *testing.T) {
	const step = 10_000_000
	for _, c := range []struct {
		until      string
		iterations uint64
		want       string
	}{{"", 400, "40ms"}, {"", 5, "10ms"}, {"1h", 0, "1s"}, {"2s", 1 << 60, "20ms"}, {"2s", 50, "10ms"}, {"", 1 << 60, "1s"}} {
		assert.Equal(t, c.want, (&mapFlags{}).period(step, c.until, c.iterations), c)
	}
}

// A run with levels shows them on its page while it goes on.
func TestAWorldIsDrawnWhileItRuns(t *testing.T) {
	s := newStage(t)
	s.file("w.sdf", strings.ReplaceAll(roomy, "SHAPE", "<box><size>8 8 8</size></box>"))
	p := s.start(nil, "world", "run", "w.sdf", "--until", "1h", "--rate", "1", "--http", "127.0.0.1:0", "--map-every", "10ms", "--runtimes", "mem", "--secondaries", "2", "--out", "live")
	var address string
	require.Eventually(t, func() bool {
		_, rest, found := strings.Cut(p.err.String(), "live: ")
		address, _, _ = strings.Cut(rest, "#")
		return found && strings.HasSuffix(address, "/")
	}, patience, 10*time.Millisecond)
	ask := func(path string) io.ReadCloser {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		return answer.Body
	}
	events := ask("map/events")
	shown := ""
	for lines := bufio.NewScanner(events); !strings.Contains(shown, "moved by secondary-1"); {
		require.True(t, lines.Scan(), "the page ended")
		shown = lines.Text()
	}
	require.NoError(t, events.Close())
	status := ask("status.json")
	text, err := io.ReadAll(status)
	require.NoError(t, errors.Join(err, status.Close()))
	assert.Contains(t, string(text), `"pages":["/map/"]`)
	require.Zero(t, s.metasim("ctl", "quit", "--run", "live").status)
	assert.Equal(t, 1, p.wait().status)
}

// The picture in docs/levels.md is what the command there draws.
func TestThePictureOfTheDocs(t *testing.T) {
	s := newStage(t)
	world, err := filepath.Abs("../../federates/levels/testdata/yard.sdf")
	require.NoError(t, err)
	e := s.metasim("world", "run", world, "--iterations", "400", "--secondaries", "2", "--runtimes", "mem", "--map", "maps")
	require.Zero(t, e.status, e.err)
	want, err := os.ReadFile("../../docs/yard.svg")
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(s.dir, "maps", "map-00062.svg"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "copy it to docs/yard.svg, and look at it and at what docs/levels.md says of it")
}
