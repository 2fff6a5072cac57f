package metasim

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Spin tries all that can happen between two clients with the rules of memory.go: no run stands still. It finds the mistakes that are
// planted in the model. The model says what else was tried.
func TestModel(t *testing.T) {
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED LOUDLY: there is no %s, so the model of who waits for memory was not checked", tool)
		}
	}
	model, err := filepath.Abs("testdata/model/memory.pml")
	require.NoError(t, err)
	for mistake, found := range map[string]string{
		"": "errors: 0", "-DSLOWEST_WAITS": "invalid end state", "-DALL_WAIT": "invalid end state", "-DPAST_SAFE": "assertion violated",
	} {
		dir := t.TempDir()
		run := func(name string, args ...string) string {
			cmd := exec.CommandContext(t.Context(), name, args...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s", name, out)
			return string(out)
		}
		generate := []string{"-DN=2", "-DT=3", "-DSENDS=2", "-a", model}
		if mistake != "" {
			generate = append([]string{mistake}, generate...)
		}
		run("spin", generate...)
		run("gcc", "-w", "-O0", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=2048", "-o", "pan", "pan.c")
		said := run(filepath.Join(dir, "pan"), "-m100000", "-w20")
		require.Contains(t, said, found, mistake)
		require.NotContains(t, said, "max search depth too small")
	}
}
