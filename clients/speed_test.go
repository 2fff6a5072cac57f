package clients_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
	"metasim/scenarios"
)

// extended returns a copy of the package for Python with its extension in C, or skips.
func extended(t testing.TB) (library string) {
	t.Helper()
	library = filepath.Join(t.TempDir(), "python")
	require.NoError(t, os.CopyFS(library, os.DirFS("python")))
	compiler(t, "gcc")
	if out, err := exec.CommandContext(t.Context(), python(t), "-B", filepath.Join(library, "backend.py")).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED LOUDLY: the extension of the package for Python cannot be built, so it was not tested; install python3-dev: %s", out)
	}
	return library
}

// The extension for Python reads and writes what the package does without it: frames of servers in the vectors, damaged in many ways, and numbers at
// the limits. A run with it is that of built-in models.
func TestPythonExtension(t *testing.T) {
	library := extended(t)
	var frames strings.Builder
	for _, session := range serverFrames(t) {
		for len(session) > 0 {
			size := binary.LittleEndian.Uint32(session)
			fmt.Fprintln(&frames, hex.EncodeToString(session[4:4+size]))
			session = session[4+size:]
		}
	}
	file := filepath.Join(t.TempDir(), "frames")
	require.NoError(t, os.WriteFile(file, []byte(frames.String()), 0o600))
	t.Setenv("PYTHONPATH", library)
	command(t, python(t), "-B", "python/tests/speed.py", file)
	const text = "name: x\nuntil: 1s\nclients:\n  - {name: a, model: ping, with: {out: X, in: Y, rounds: 100}}\n  - {name: b, ECHO}\nlinks: [{delay: 1ms}]\n"
	echo := "env: [PYTHONPATH=" + library + "], run: [" + python(t) + ", -B, " + filepath.Join(library, "examples", "echo.py") + ", X, Y]"
	require.Equal(t, carryOut(t, strings.Replace(text, "ECHO", "model: echo, with: {in: X, out: Y}", 1), "mem"), carryOut(t, strings.Replace(text, "ECHO", echo, 1), "shm"))
}

// BenchmarkRoundTrips says how long a round trip of a client takes against the built-in echo, and what the machine can do. Times on a busy machine
// say little.
func BenchmarkRoundTrips(t *testing.B) {
	const rounds = "50000"
	inC := compile(t, nil, "c/test/pingpong.c", object(t, nil))
	interpreter := python(t) + ", -B, " + filepath.Join(extended(t), "tests", "pingpong.py")
	pure, err := filepath.Abs("python")
	require.NoError(t, err)
	against := func(program, library, transport string) string {
		text := "name: x\nclients:\n  - {name: a, env: [PYTHONPATH=" + library + "], run: [" + program + ", X, Y, '" + rounds + "']}\n  - {name: b, model: echo, with: {in: X, out: Y}}\n" +
			"links: [{delay: 1ms}]\n"
		sc, _, err := scenarios.Parse("x.metasim.yaml", []byte(text), scenarios.Overrides{AllowOutside: true})
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "run")
		out, err := run.Scenario(t.Context(), sc, run.Options{Out: dir, Transport: transport, Self: []string{os.Args[0]}, AllowOutside: true})
		require.NoError(t, err)
		require.True(t, out.OK, out.Error)
		said, err := os.ReadFile(filepath.Join(dir, "clients", "a.stdout"))
		require.NoError(t, err)
		return string(said)
	}
	extension := filepath.Dir(filepath.Dir(strings.TrimPrefix(interpreter, python(t)+", -B, ")))
	answered := func(library string, program ...string) string { // against a server that only answers
		t.Setenv("PYTHONPATH", library)
		return strings.TrimSpace(command(t, inC, append([]string{filepath.Join(t.TempDir(), "s"), rounds}, program...)...))
	}
	inPython := []string{python(t), "-B", "python/tests/pingpong.py"}
	for range 3 { // medians of three say enough
		t.Log("raw, two processes in C on unix:                    ", strings.TrimSpace(command(t, inC, rounds)))
		t.Log("raw, in Python, the other end in C:                 ", answered("", slices.Concat(inPython, []string{rounds})...))
		t.Log("client in C on unix, a server that only answers:    ", answered(""))
		t.Log("client in Python, the same server:                  ", answered(pure, slices.Concat(inPython, []string{"X", "Y", rounds, "stays"})...))
		t.Log("client in Python with its extension, the same server:", answered(extension, slices.Concat(inPython, []string{"X", "Y", rounds, "stays"})...))
		for _, transport := range []string{"mem", "shm"} { // in mem the echo is in the server, and the client on unix
			where := map[string]string{"mem": "unix", "shm": "shm "}[transport]
			t.Log("client in C on "+where+", echo:                          ", strings.TrimSpace(against(inC, pure, transport)))
			t.Log("client in Python on "+where+", echo:                     ", strings.TrimSpace(against(interpreter, pure, transport)))
			t.Log("client in Python with its extension on "+where+", echo:  ", strings.TrimSpace(against(interpreter, extension, transport)))
		}
	}
}
