package mutants

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
)

// followerTests has the first test that catches each mistake: a line is its name, a tab, and the mistake. The others need not be carried out to see that
// it is caught. With -rewrite all are looked through for it again.
const followerTests = "testdata/followers.txt"

func readFollowerTests(t *testing.T) map[string]string {
	tests := map[string]string{}
	if golden.Rewrite() {
		return tests
	}
	text, err := os.ReadFile(followerTests)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		test, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		tests[name] = test
	}
	return tests
}

func writeFollowerTests(t *testing.T, tests map[string]string) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		text.WriteString(tests[name] + "\t" + name + "\n")
	}
	require.NoError(t, os.WriteFile(followerTests, []byte(text.String()), 0o644))
}

// The tests of the core of followers find every mistake that is planted in its failover. Those that are drawn by seeds have as many runs as in the tests of that folder.
func TestFollowerMutants(t *testing.T) {
	dir := t.TempDir()
	p := build(t, followerFolder, dir, plant(t, dir, followerMutants))
	known, found, looked, mu := readFollowerTests(t), map[string]string{}, 0, sync.Mutex{}
	t.Cleanup(func() {
		if golden.Rewrite() && !t.Failed() && looked == len(followerMutants) {
			writeFollowerTests(t, found)
		}
	})
	run := func(number int, tests string, limit time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
		defer cancel()
		c := exec.CommandContext(ctx, p.binary, "-test.run", tests, "-test.short", "-test.failfast", "-test.timeout", limit.String(), "-rapid.nofailfile", "-rapid.shrinktime", "0s")
		c.Dir = p.folder
		c.Env = append(os.Environ(), selector+"="+strconv.Itoa(number))
		text, err := c.CombinedOutput()
		return string(text), err
	}
	const patience = 2 * time.Minute
	text, err := run(0, "", patience)
	require.NoError(t, err, "it fails without a mistake: %s", text)
	for i, m := range followerMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			mu.Lock()
			looked++
			mu.Unlock()
			limit := patience
			if m.endless { // a director asks for ever at one time
				limit = 10 * time.Second
			}
			text, err := "", error(nil)
			if test := known[m.name]; test != "" {
				text, err = run(i+1, "^"+test+"$", limit)
			}
			if err == nil {
				text, err = run(i+1, "", limit)
			}
			if m.harmless {
				require.NoError(t, err, "this should only cost speed: %s", text)
				return
			}
			require.Error(t, err, "no test notices")
			if !m.endless {
				require.NotContains(t, text, "test timed out", "the clock notices, and no test")
			}
			if caught := failed.FindStringSubmatch(text); caught != nil {
				t.Log(caught[1])
				mu.Lock()
				defer mu.Unlock()
				found[m.name] = caught[1]
			} else {
				t.Log("it crashed: " + text[:min(len(text), 200)])
			}
		})
	}
}
