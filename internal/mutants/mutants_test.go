package mutants

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// top is the root of the module, seen from here.
const top = "../.."

// An edit replaces a text that stands in a file of the machine exactly once.
type edit struct{ file, old, new string }

// A mutant is a planted mistake.
type mutant struct {
	name     string
	edits    []edit
	harmless bool // it costs something, but not correctness: no test may fail
}

// plant copies the machine with its tests into a module of its own, and makes the mistake there.
func plant(t *testing.T, m mutant) string {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		copyFile(t, filepath.Join(top, name), filepath.Join(dir, name))
	}
	for _, folder := range []string{"metasim", "internal/script"} {
		source := filepath.Join(top, folder)
		require.NoError(t, filepath.WalkDir(source, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			rel, err := filepath.Rel(top, path)
			if err == nil && !strings.Contains(rel, "rapid") {
				copyFile(t, path, filepath.Join(dir, rel))
			}
			return err
		}))
	}
	for _, e := range m.edits {
		path := filepath.Join(dir, "metasim", e.file)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), e.old),
			"%s must hold this once; mend the mutant where the machine has changed:\n%s", e.file, e.old)
		changed := strings.Replace(string(text), e.old, e.new, 1)
		require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
	require.NoError(t, os.WriteFile(to, text, 0o600))
}

// gotool runs the go tool in a directory. The build cache is shared, so only the machine and its tests are compiled.
func gotool(t *testing.T, dir string, args ...string) (string, error) {
	c := exec.CommandContext(context.Background(), "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	out, err := c.CombinedOutput()
	return string(out), err
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// run tests a planted mistake and returns the names of the tests that caught it.
func run(t *testing.T, m mutant) []string {
	dir := plant(t, m)
	binary := filepath.Join(dir, "test.bin")
	out, err := gotool(t, dir, "test", "-c", "-vet=off", "-ldflags=-s -w", "-gcflags=-N -l", "-o", binary, "./metasim")
	require.NoError(t, err, "it does not compile, so it shows nothing:\n%s", out)
	c := exec.CommandContext(context.Background(), binary,
		"-test.run", "Script|Interleave$|SafeTimes|Forest|Instant|Time|Message|Queue", "-test.short", "-test.failfast",
		"-test.timeout", "60s", "-seeds", "50", "-orders", "4", "-graphs", "1000", "-rapid.nofailfile",
		"-rapid.shrinktime", "0s")
	c.Dir = filepath.Join(dir, "metasim")
	text, err := c.CombinedOutput()
	var caught []string
	for _, match := range failed.FindAllStringSubmatch(string(text), -1) {
		caught = append(caught, match[1])
	}
	if err != nil && len(caught) == 0 {
		caught = []string{"it crashed: " + strings.SplitN(string(text), "\n", 2)[0]}
	}
	slices.Sort(caught)
	return caught
}

var all = flag.Bool("all", false, "plant the mistakes in the forest of safe times too, which takes as long again: make sim")

// Every planted mistake is caught, and every harmless change is not. The forest is compared with the plain computation
// at every settlement of every other test, so its mistakes are planted by the long test only.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		if !*all && strings.HasPrefix(m.edits[0].file, "forest") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			caught := run(t, m)
			if m.harmless {
				require.Empty(t, caught, "this should only cost speed")
				return
			}
			require.NotEmpty(t, caught, "no test notices")
			t.Logf("caught by %s", strings.Join(caught, ", "))
		})
	}
}
