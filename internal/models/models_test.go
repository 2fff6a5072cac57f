package models

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var large = flag.Bool("large", false, "check the large sizes too: make models")

// A check is a line at the beginning of a model: what Spin must say, and the flags with which the model is compiled.
//
//	checked: -DN=2 -DT=3                                    it holds
//	large: -DN=3 -DT=2                                      it holds, and takes long
//	invalid end state: -DN=2 -DALL_WAIT     everybody waits this mistake must be found
type check struct {
	says  string
	flags []string
}

const (
	holds       = "checked"
	holdsLarge  = "large"
	violated    = "assertion violated"
	standsStill = "invalid end state"
)

var line = regexp.MustCompile(`(?m)^ \* (` + strings.Join([]string{holds, holdsLarge, violated, standsStill}, "|") + `): (.*)$`)

func checksOf(text string) (checks []check) {
	for _, found := range line.FindAllStringSubmatch(text, -1) {
		c := check{says: found[1]}
		for _, word := range strings.Fields(found[2]) {
			if strings.HasPrefix(word, "-D") {
				c.flags = append(c.flags, word)
			}
		}
		checks = append(checks, c)
	}
	return checks
}

// Everything that can happen in a model keeps its rules, and every mistake that is planted in it is found.
func TestModels(t *testing.T) {
	compiler := "clang" // which compiles in half of the time that gcc takes
	if _, err := exec.LookPath(compiler); err != nil {
		compiler = "gcc"
	}
	for _, tool := range []string{"spin", compiler} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED LOUDLY: there is no %s, so no model was checked", tool)
		}
	}
	files, err := filepath.Glob("../../docs/model/*.pml")
	require.NoError(t, err)
	require.NotEmpty(t, files, "the models are gone")
	var used time.Duration
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pml")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		checks, mistakes := checksOf(string(text)), 0
		for _, c := range checks {
			if c.says == violated || c.says == standsStill {
				mistakes++
			}
			if c.says != holdsLarge || *large {
				used += c.run(t, compiler, name, string(text))
			}
		}
		require.Greater(t, len(checks), mistakes, "%s is never checked without a mistake", name)
		require.Positive(t, mistakes, "no mistake is planted in %s: it could be blind", name)
	}
	t.Logf("%.0f s of processor time", used.Seconds())
}

var (
	states = regexp.MustCompile(`(\d+) states, stored`)
	memory = regexp.MustCompile(`([\d.]+)\s+total actual memory usage`)
)

// run has Spin make a program of the model, and runs that. It returns the processor time that all took.
func (c check) run(t *testing.T, compiler, name, text string) (used time.Duration) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".pml"), []byte(text), 0o600))
	optimize, hash, found := "-O0", "-w20", "errors: 0" // to compile with optimization takes longer than to run
	switch c.says {
	case holdsLarge:
		optimize, hash = "-O2", "-w26"
	case violated, standsStill:
		found = c.says
	}
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return string(out)
	}
	run("spin", append(c.flags, "-a", name+".pml")...)
	run(compiler, "-w", optimize, "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=2048", "-o", "pan", "pan.c")
	said := run(filepath.Join(dir, "pan"), "-m1000000", hash)
	flags := strings.Join(c.flags, " ")
	require.Contains(t, said, found, "%s %s", name, flags)
	require.NotContains(t, said, "max search depth too small")
	t.Logf("| %s | `%s` | %s | %s | %.1f | %s |", name, flags, c.says, states.FindStringSubmatch(said)[1], used.Seconds(), memory.FindStringSubmatch(said)[1])
	return used
}
