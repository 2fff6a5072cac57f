package session_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client in another language plays the vectors that it can play, and says what the reference client says.
func TestPythonPlaysTheVectors(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: no python3: no client but our own plays the vectors; install python3")
	}
	out, err := exec.CommandContext(t.Context(), python, "-B", "../../conformance/play.py").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `^[4-9]\d played, 0 of them wrong, \d+ skipped\n$`, string(out))
}
