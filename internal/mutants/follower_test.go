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
	run := func(number int) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		// A mistake may let a director ask for ever at one time: memory for what it asks is bounded, and the time too.
		c := exec.CommandContext(ctx, p.binary, "-test.short", "-test.failfast", "-test.timeout", "2m", "-rapid.nofailfile", "-rapid.shrinktime", "0s")
		c.Dir = p.folder
		c.Env = append(os.Environ(), selector+"="+strconv.Itoa(number))
		text, err := c.CombinedOutput()
		return string(text), err
	}
	text, err := run(0)
	require.NoError(t, err, "it fails without a mistake: %s", text)
	for i, m := range followerMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			text, err := run(i + 1)
			if m.harmless {
				require.NoError(t, err, "this should only cost speed: %s", text)
				return
			}
			require.Error(t, err, "no test notices")
			if caught := failed.FindAllString(text, -1); caught != nil {
				t.Log(strings.Join(caught, ", "))
			} else {
				t.Log("it crashed: " + text[:min(len(text), 200)])
			}
		})
	}
}
