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
		// A mistake may let a director ask for ever at one time: memory for what it asks is bounded, and the time too.
		c := exec.CommandContext(ctx, p.binary, "-test.short", "-test.failfast", "-test.timeout", limit.String(), "-rapid.nofailfile", "-rapid.shrinktime", "0s")
		c.Dir = p.folder
		c.Env = append(os.Environ(), selector+"="+strconv.Itoa(number))
		text, err := c.CombinedOutput()
		return string(text), err
	}
	const patience = 2 * time.Minute
	began := time.Now()
	text, err := run(0, patience)
	require.NoError(t, err, "it fails without a mistake: %s", text)
	usual := time.Since(began)
	for i, m := range followerMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.harmless {
				text, err := run(i+1, patience)
				require.NoError(t, err, "this should only cost speed: %s", text)
				return
			}
			text, err := run(i+1, min(patience, 10*time.Second+8*usual)) // who does not come to an end is caught
			require.Error(t, err, "no test notices")
			if caught := failed.FindAllString(text, -1); caught != nil {
				t.Log(strings.Join(caught, ", "))
			} else {
				t.Log("it crashed: " + text[:min(len(text), 200)])
			}
		})
	}
}
