package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What metasim holds is small and its garbage is much, so it is not collected at each few megabytes, unless the environment says how often. The ballast takes no memory.
func TestSmallHeapsAreSeldomCollected(t *testing.T) {
	s := newStage(t)
	s.file("m.yaml", `name: garbage
until: 180s
clients:
  - {name: source, model: source, with: {channel: DATA, period: 1ms, size: 1000}}
  - {name: sink, model: sink, with: {channels: [DATA]}}
links: [{delay: 1ms}]
`)
	collections := func(env ...string) int {
		p := s.start(append(env, "GODEBUG=gctrace=1"), "run", "m.yaml", "--transport", "mem")
		end := p.wait()
		require.Zero(t, end.status, end.err)
		return strings.Count(end.err, "\ngc ")
	}
	often := collections("GOGC=100")
	require.Greater(t, often, 4, "too little garbage for this test")
	require.Less(t, collections(), often*2/3) // three times less, but for the first few
	require.Greater(t, collections("GOMEMLIMIT=1GiB"), often/2)

	peak := func(env ...string) int64 {
		c := exec.Command(s.program, "version")
		c.Env = append(s.environment(), env...)
		require.NoError(t, c.Run())
		return c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	require.Less(t, peak()-peak("GOGC=100"), int64(ballastSize/2))
}
