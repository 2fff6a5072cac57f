package tidy

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayBeDead are functions that no program of the house reaches, each with the reason.
var mayBeDead = map[string]string{
	"metasim.Seconds":          "embedders convert floating seconds with it, once",
	"metasim/simtime.Seconds":  "the same",
	"federates/lockstep.Serve": "embedders run a system of a program of their own with it",
}

// What no program reaches is dead, or there for tests alone: then it belongs into a test.
func TestNothingIsDead(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED LOUDLY: -short: the whole program is not analysed for code that nothing reaches")
	}
	cmd := exec.Command("go", "tool", "deadcode", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOGC=400") // memory for time
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		where, name, ok := strings.Cut(strings.TrimSpace(line), ": unreachable func: ")
		require.True(t, ok, "deadcode says %q, which this test cannot read; mend the test", line)
		file, _, _ := strings.Cut(where, ":")
		room := path.Dir(file)
		if mayExport[room] == "" && mayBeDead[room+"."+name] == "" {
			t.Errorf("%s: no program reaches %s: remove it, or move it into the test that uses it", where, name)
		}
	}
}
