package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	code := sha256.Sum256(s.read("wind.wasm"))
	s.file("wasm.yaml", "name: wasm\nclients:\n  - {name: world, model: world, with: {file: wasm.sdf, iterations: 3, remote: [wind, odometer]}}\n"+
		"  - {name: wind, model: lockstep-runtime}\n  - {name: odometer, model: lockstep-runtime}\n")
	recorded, e := s.run("wasm.yaml", "--transport", "mem")
	require.Zero(t, e.status, e.err)
	for _, c := range recorded.Clients {
		require.Equal(t, c.Name != "odometer", strings.Contains(string(c.Result), hex.EncodeToString(code[:])), "which module ran is on record: %s of %s", c.Result, c.Name)
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

// The world of a scenario from somebody else runs no module from outside of its directory, wherever the module is named and wherever it runs.
func TestAWorldRunsNoModuleFromOutside(t *testing.T) {
	s := newStage(t)
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "theirs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "mine.wasm"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(s.dir, "mine.wasm"), filepath.Join(s.dir, "theirs", "link.wasm")))
	const plugin = `<plugin filename="%s" name="mine"/>`
	own := "\n  - {name: mine, model: lockstep-runtime, with: {config: c.config}}"
	for name, c := range map[string]struct{ module, world, runtime, told string }{
		"a path":            {"../mine.wasm", plugin, "", "../mine.wasm"},
		"an absolute path":  {filepath.Join(s.dir, "mine.wasm"), plugin, "", "../mine.wasm"},
		"a symbolic link":   {"link.wasm", plugin, "", "link.wasm"},
		"a placeholder":     {"../mine.wasm", `<plugin filename="l" name="gz::sim::systems::LockStep">` + plugin + `</plugin>`, "", "../mine.wasm"},
		"of a runtime":      {"../mine.wasm", "", own, "../mine.wasm"},
		"of a runtime, too": {"link.wasm", "", own, "link.wasm"},
	} {
		named := func(text string) string { return strings.ReplaceAll(text, "%s", c.module) }
		s.file("theirs/w.sdf", `<sdf version="1.9"><world name="w">`+named(c.world)+`</world></sdf>`)
		s.file("theirs/c.config", `<runtime_config><plugins>`+named(plugin)+`</plugins></runtime_config>`)
		s.file("theirs/w.yaml", "name: w\nclients:\n  - {name: world, model: world, with: {file: w.sdf, iterations: 2}}"+c.runtime+"\n")
		e := s.metasim("run", "theirs/w.yaml", "--transport", "mem")
		require.Equal(t, 1, e.status, "%s: %s", name, e.err)
		require.Contains(t, e.err, strconv.Quote(c.told)+` lies outside of the scenario's directory; move it below, or use --allow-outside`, name)
		e = s.metasim("run", "theirs/w.yaml", "--transport", "mem", "--allow-outside")
		require.Contains(t, e.err, "this is no WebAssembly module", "%s: it was read", name)
	}
}
