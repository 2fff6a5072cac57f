package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A terminal is one that tmux shows to nobody, with metasim on it.
type terminal struct {
	*stage
	socket string
}

// terminal starts metasim on a terminal of some columns.
func (s *stage) terminal(columns int, args ...string) *terminal {
	s.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		s.Skip("SKIPPED LOUDLY: no tmux, so nobody looks at the terminal")
	}
	self, err := os.Executable()
	require.NoError(s, err)
	x := &terminal{s, filepath.Join(s.temp, "tmux")}
	s.Cleanup(func() { _, _ = x.tmux("kill-server") }) // it may have ended by itself
	// What the race detector finds would be written over the screen.
	races := filepath.Join(s.dir, "races")
	s.Cleanup(func() {
		found, err := filepath.Glob(races + ".*")
		require.NoError(s, err)
		for _, file := range found {
			text, err := os.ReadFile(file)
			require.NoError(s, err)
			s.Errorf("%s", text)
		}
	})
	line := fmt.Sprintf("env %s 'GORACE=atexit_sleep_ms=0 log_path=%s' %s %s; echo status $?; read x",
		strings.Join(s.environment(), " "), races, self, strings.Join(args, " "))
	_, err = x.tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "24", "-c", s.dir, line)
	require.NoError(s, err)
	return x
}

func (x *terminal) tmux(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", x.socket}, args...)...).CombinedOutput()
	return string(out), err
}

// shows waits until all of these are on the screen at once, wherever its lines break.
func (x *terminal) shows(parts ...string) string {
	x.Helper()
	deadline := time.Now().Add(patience)
	for {
		screen, err := x.tmux("capture-pane", "-p")
		text := strings.Join(strings.Fields(screen), " ")
		missing := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return strings.Contains(text, part) })
		if err == nil && len(missing) == 0 {
			return screen
		}
		if time.Now().After(deadline) {
			require.FailNow(x, "not on the screen", "%q: %v\n%s", missing, err, screen)
		}
	}
}

func (x *terminal) press(keys ...string) {
	x.Helper()
	_, err := x.tmux(append([]string{"send-keys"}, keys...)...)
	require.NoError(x, err)
}

// A person sees on the terminal who holds the run up, pauses it, and ends it.
func TestTerminal(t *testing.T) {
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			s := raced(t)
			flag := filepath.Join(s.dir, "here")
			s.file("c.yaml", withCommand("stuck PING PONG", "", flag))
			x := s.terminal(columns, "run", "c.yaml", "--tui", "--http", ":0", "--stall", "0")
			screen := x.shows("metasim commanded running", "Held up by: ponger", "ponger at 60ms",
				"live: http://127.0.0.1:", "p pause")
			require.Equal(t, columns >= 90, strings.Contains(screen, "safe until"), "what there is room for")
			for line := range strings.SplitSeq(screen, "\n") {
				require.LessOrEqual(t, len([]rune(line)), columns)
			}
			x.press("/", "g", "e", "r", "Enter")
			x.shows("with ger: 1–2 of 2")
			x.press("/", "z", "Enter")
			x.shows("with gerz: 0–0 of 0", "no client matches")
			x.press("/", "BSpace", "BSpace", "BSpace", "BSpace", "Enter")
			x.press("p")
			x.shows("paused: no client is authorized") // an answer is shown for some seconds only
			x.shows("metasim commanded pausing", "the run is being paused at ", "ponger is on its way")
			x.press("p")
			x.shows("metasim commanded running")
			x.press("u")
			x.shows("pause at (as 2.5s):")
			x.press("s", "o", "o", "n", "Enter")
			x.shows("until when?")
			x.press("q", "n")
			x.shows("p pause")
			x.press("q", "y")
			x.shows("it was ended by", "status 1")
		})
	}
}
