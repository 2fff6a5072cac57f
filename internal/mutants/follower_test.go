package mutants

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of the core of followers find every mistake that is planted in its failover. Those that are drawn by seeds have as many runs as in the tests of that folder.
func TestFollowerMutants(t *testing.T) {
	dir := t.TempDir()
	p := build(t, followerFolder, dir, plant(t, dir, followerMutants))
	run := func(number int, limit time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
		defer cancel()
		c := exec.CommandContext(ctx, p.binary, "-test.short", "-test.failfast", "-test.timeout", limit.String(), "-rapid.nofailfile", "-rapid.shrinktime", "0s")
		c.Dir = p.folder
		c.Env = append(os.Environ(), selector+"="+strconv.Itoa(number))
		text, err := c.CombinedOutput()
		return string(text), err
	}
	const patience = 2 * time.Minute
	text, err := run(0, patience)
	require.NoError(t, err, "it fails without a mistake: %s", text)
	for i, m := range followerMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			limit := patience
			if m.endless { // a director asks for ever at one time
				limit = 10 * time.Second
			}
			text, err := run(i+1, limit)
			if m.harmless {
				require.NoError(t, err, "this should only cost speed: %s", text)
				return
			}
			require.Error(t, err, "no test notices")
			if !m.endless {
				require.NotContains(t, text, "test timed out", "the clock notices, and no test")
			}
			if caught := failed.FindAllString(text, -1); caught != nil {
				t.Log(strings.Join(caught, ", "))
			} else {
				t.Log("it crashed: " + text[:min(len(text), 200)])
			}
		})
	}
}
