package mutants

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The runs of package dst in which each mistake must be found.
const systemRuns = 1000

var failedRun = regexp.MustCompile(`-seed (\d+): (.*)`)

// The simulation of the system finds every mistake that is planted in the sessions and in the bound on memory.
func TestSystemMutants(t *testing.T) {
	dir := t.TempDir()
	files, err := filepath.Glob("../../dst/*.go")
	require.NoError(t, err)
	for _, file := range files {
		_, err := os.ReadFile(file) // so that go test does not answer from its cache when the simulation has changed
		require.NoError(t, err)
	}
	binary := filepath.Join(dir, "metasim-dst")
	c := exec.CommandContext(t.Context(), "go", "build", "-overlay", plant(t, dir, systemMutants), "-o", binary, "../../cmd/metasim-dst")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "the mistakes do not compile:\n%s", out)
	run := func(t *testing.T, number int) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, binary, "-runs", strconv.Itoa(systemRuns))
		c.Env = append(os.Environ(), "GOMAXPROCS=1", selector+"="+strconv.Itoa(number)) // one after the other, so that the first is found
		text, err := c.CombinedOutput()
		require.NoError(t, ctx.Err(), "it hangs")
		return string(text), err
	}
	text, err := run(t, 0)
	require.NoError(t, err, "it fails without a mistake: %s", text)
	for i, m := range systemMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			text, err := run(t, i+1)
			require.Error(t, err, "not found in %d runs", systemRuns)
			found := failedRun.FindStringSubmatch(text)
			if found == nil {
				found = []string{"", "?", "it crashed: " + text[:min(len(text), 200)]}
			}
			t.Logf("| %s | seed %s | %s |", m.name, found[1], found[2])
		})
	}
}
