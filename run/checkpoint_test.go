//go:build unix

package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record/replay"
	"metasim/run"
)

// TestCheckpoints kills processes of clients at random moments, which begin again at their last checkpoints: the run is the same as one in which
// nobody died, and nobody made checkpoints.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	const until = "1s"
	quiet := carryOut(t, parse(t, workersOf(until, t.TempDir(), "")), options(t, "unix"))
	for transport, each := range map[string]int{"unix": *kills / 2, "shm": *kills / 4} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			sc := parse(t, workersOf(until, dir, fmt.Sprintf(", on_exit: restart, checkpoint: 20ms, restarts: %d", each)))
			out, said := withKills(t, sc, options(t, transport), dir, each, quiet)
			for _, c := range out.Clients {
				require.Equal(t, c.Name != "plant", c.Checkpoints > 0, "%s made %d", c.Name, c.Checkpoints)
			}
			require.Contains(t, said, `msg="begins at a checkpoint"`)
			require.NotContains(t, said, "is not used")
		})
	}
}

// TestResumeAtCheckpoints kills metasim, and has the run go on: clients begin at their last checkpoints. The journal may have lost the end that
// belongs to the newest of these: then they are older, or there is none.
func TestResumeAtCheckpoints(t *testing.T) {
	t.Parallel()
	const until = "2s"
	quiet := carryOut(t, parse(t, workersOf(until, t.TempDir(), "")), options(t, "unix"))
	for _, part := range []float64{1, 0.5, 0.001} {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			text := workersOf(until, t.TempDir(), ", checkpoint: 20ms")
			dir := killedWhen(t, text, "unix", func(dir string) bool {
				files, err := filepath.Glob(filepath.Join(dir, "checkpoints", "?-?"))
				return err == nil && len(files) == 6 // the last two of each client that makes some
			})
			journal := filepath.Join(dir, "journal")
			require.NoError(t, os.Truncate(journal, int64(part*float64(journalSize(t, dir)))))
			log, said := logger()
			self, err := os.Executable()
			require.NoError(t, err)
			out, err := run.Resume(t.Context(), recorded(t, dir), run.Options{Self: []string{self}, Log: log})
			require.NoError(t, err)
			require.NoError(t, out.Err)
			require.Equal(t, quiet.Digests, out.Digests)
			switch begins := strings.Count(said.String(), `msg="begins at a checkpoint"`); part {
			case 1:
				require.Equal(t, 3, begins, said.String())
			case 0.001:
				require.Zero(t, begins, said.String())
			}
			require.NotContains(t, said.String(), "is not used")
			require.NoDirExists(t, filepath.Join(dir, "checkpoints"), "a run that has ended needs none")
			a, err := replay.Dispatcher(recorded(t, dir))
			require.NoError(t, err)
			require.Nil(t, a.Difference)
		})
	}
}
