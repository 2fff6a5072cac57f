//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKilledByForce kills metasim itself, in the middle of a run that is paced: what is on disk is enough to replay and
// compare as far as it goes, and nothing of it is taken for a difference.
func TestKilledByForce(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", "rate: 1\nuntil: 100s\nname: long\nclients:\n"+
		"  - {name: src, model: source, with: {channel: A, period: 1ms}}\n"+
		"  - {name: echo, model: echo, with: {in: A, out: B}}\n"+
		"  - {name: heard, model: sink, with: {channels: [A, B]}}\n")
	p := s.start(nil, "run", "p.yaml", "--out", "k")
	file := filepath.Join(s.dir, "k", "journal")
	require.Eventually(t, func() bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 200_000
	}, patience, 5*time.Millisecond)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGKILL))
	require.Equal(t, -1, p.wait().status)
	require.NoFileExists(t, filepath.Join(s.dir, "k", "index"))

	e := s.metasim("replay", "k")
	require.Equal(t, 3, e.status)
	require.Contains(t, e.out, "the same: ")
	for _, name := range []string{"src", "echo", "heard"} {
		e = s.metasim("replay", "k", "--client", name)
		require.Equal(t, 3, e.status)
		require.Contains(t, e.out, "the end: ")
		require.NotContains(t, e.out, "it left")
	}
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "w", "--set", "rate=0", "--until", "2s").status)
	e = s.metasim("diff", "w", "k")
	require.Equal(t, 3, e.status)
	require.Regexp(t, "^the scenarios differ:\n  rate: 0, 1\n  until: 2s, 100s\nequal as far as recorded, until [0-9.ms+]+\n$", e.out)
	require.Equal(t, "note: B (k) was killed, and is compared as far as it was recorded\n", e.err)
}

// TestKilledWhileItHangs kills metasim while a client of the run hangs, so that the journal is small and nothing is added to it: all that
// happened before is on disk.
func TestKilledWhileItHangs(t *testing.T) {
	s := newStage(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", withCommand("sleeper PING PONG", "", flag))
	p := s.start(nil, "run", "c.yaml", "--out", "k")
	p.appears(flag)
	last := "115ms (undelivered)  110ms  pinger  ponger  PING     2    8\n"
	require.Eventually(t, func() bool { return strings.Contains(s.metasim("log", "k").out, last) }, patience/2, 100*time.Millisecond)
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status)
	e := s.metasim("log", "k")
	require.Equal(t, 3, e.status)
	require.Contains(t, e.out, last)
}
