package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A system that is a WebAssembly module, built from Go, gives the states of the one in Go, in the world and in runtimes. Without its sandbox it is
// refused: it asks for a clock.
func TestASystemInWebAssembly(t *testing.T) {
	s := newStage(t)
	build := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-o", filepath.Join(s.dir, "wind.wasm"), "../../federates/wasm/testdata/wind")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	s.file("windy.sdf", windy("windy"))
	strict := strings.Replace(windy("windy"), `filename="metasim" name="metasim::systems::Wind">`, `filename="wind.wasm" name="example::Wind">`, 1)
	s.file("strict.sdf", strict)
	s.file("wasm.sdf", strings.Replace(strict, "<velocity>", `<sandbox wasi="simulated"/><velocity>`, 1))
	s.file("fast.sdf", strings.Replace(strict, "<velocity>2 0 0<", `<sandbox wasi="simulated"/><velocity>fast<`, 1))
	hash := func(file, where string) string {
		e := s.metasim("world", "run", file, "--iterations", "60", "--reset", "20", "--runtimes", where, "--json")
		require.Zero(t, e.status, e.err+e.out)
		var out worldOutcome
		require.NoError(t, json.Unmarshal([]byte(e.out), &out))
		return out.StateHash
	}
	want := hash("windy.sdf", "in-process")
	for _, where := range []string{"in-process", "mem", "unix"} {
		require.Equal(t, want, hash("wasm.sdf", where), where)
	}
	for file, want := range map[string]string{
		"strict.sdf": "strict.sdf:7: wind.wasm: it imports sched_yield of WASI, and a system has no clock, no random numbers and no files; take time and seed",
		"fast.sdf":   "system wind, in Configure: wind.wasm says: <velocity> is not 3 numbers",
	} {
		e := s.metasim("world", "run", file, "--iterations", "1", "--runtimes", "mem")
		require.NotZero(t, e.status)
		require.Contains(t, e.err, want)
	}
}
