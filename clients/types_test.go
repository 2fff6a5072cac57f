package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The type hints of the package for Python hold, and who uses it with them is understood: mypy, at its strictest, finds nothing in the package and the examples. Then a
// program that gives a channel a number is told so.
func TestPythonTypes(t *testing.T) {
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no mypy, so the type hints of the package for Python are not checked; install mypy")
	}
	check := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), mypy, append([]string{"--strict", "--cache-dir=/dev/null", "metasim"}, args...)...)
		cmd.Dir = "python"
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := check("examples/echo.py", "examples/ping.py", "examples/source.py", "examples/follower.py", "examples/wind.py")
	require.NoError(t, err, out)
	wrong := filepath.Join(t.TempDir(), "wrong.py")
	require.NoError(t, os.WriteFile(wrong, []byte("import metasim\nmetasim.Client().publication('X').publish(5)\n"), 0o600))
	out, err = check(wrong)
	require.Error(t, err)
	require.Contains(t, out, `Argument 1 to "publish" of "Publication" has incompatible type "int"`)
}
