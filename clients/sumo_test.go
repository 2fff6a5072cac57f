package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// crossing returns the scenario of scenarios/sumo, for wherever it is run.
func crossing(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../scenarios/sumo")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "crossing.metasim.yaml"))
	require.NoError(t, err)
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	scenario := strings.NewReplacer("python3", python(t), "traffic.py", filepath.Join(dir, "traffic.py"), "signals.py", filepath.Join(dir, "signals.py"),
		"../../clients/python", library, "until: 10m", "until: 2m").Replace(string(text))
	require.NotEqual(t, string(text), scenario)
	return scenario
}

// Where there is no SUMO the run says what to install.
func TestNoSUMO(t *testing.T) {
	t.Parallel()
	interpreter := strings.TrimSpace(command(t, python(t), "-c", "import sys; print(sys.executable)")) // what is in PATH may need PATH itself
	scenario := strings.NewReplacer(python(t), interpreter, "env: [", "env: [PATH=/nowhere, ").Replace(crossing(t))
	out, _ := carriedOut(t, scenario, "unix")
	require.False(t, out.OK)
	require.Contains(t, out.Error, "there is no SUMO; install it: apt-get install --no-install-recommends sumo")
}

// A simulator that nobody here wrote: SUMO moves the cars at a crossing, and a controller in another client switches its signals. The run is the same each
// time and over each transport, and another one with another seed.
func TestSUMO(t *testing.T) {
	scenario := crossing(t)
	if _, err := exec.LookPath("sumo"); err != nil {
		t.Skip("SKIPPED LOUDLY: there is no SUMO, so it was not tried as a client; install sumo")
	}
	first := carryOut(t, scenario, "unix")
	require.Equal(t, first, carryOut(t, scenario, "tcp"))
	require.NotEqual(t, first, carryOut(t, strings.Replace(scenario, "seed: 3", "seed: 4", 1), "unix"), "other cars come")
}
