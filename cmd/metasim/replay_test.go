package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

func TestReplay(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", withCommand("echo PING PONG", ""))
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r", "--keep-env").status)

	e := s.metasim("replay", "r")
	require.Equal(t, 0, e.status)
	require.Contains(t, e.out, "the same: ")
	require.Contains(t, e.out, "digest: "+pingPongDigest)
	for _, name := range []string{"pinger", "ponger"} {
		e = s.metasim("replay", "r", "--client", name)
		require.Equal(t, 0, e.status)
		require.Equal(t, "the same: "+name+" was given 10 messages and sent 10; the end: it left\n", e.out)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	e = s.metasim("replay", "r", "--client", "ponger", "--", "env", testprogram.Env("echo"), self, "PING", "PONG")
	require.Equal(t, 0, e.status)
	e = s.metasim("replay", "r", "--client", "ponger", "--", "env", testprogram.Env("echo"), self, "PING", "PANG")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, `what "ponger" declares is not what it was: then publications ["PONG"]`)
	s.clean()
}

// TestReplayFindsADifference: both messages are told, and where they part.
func TestReplayFindsADifference(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	file := filepath.Join(s.dir, "r", "manifest.json")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := strings.Replace(string(b), `"rounds": 10`, `"rounds": 9`, 1)
	require.NotEqual(t, string(b), changed)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o644))
	e := s.metasim("replay", "r", "--client", "pinger")
	require.Equal(t, 1, e.status)
	e.says(t, `message 9 of "pinger" is not what it was: then 8 bytes on "PING"`, "now it leaves at")
}

func TestReplayRefuses(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"replay"}, "takes one run directory"},
		{[]string{"replay", "r", "--", "echo"}, "use --client NAME"},
		{[]string{"replay", "r", "--client", "pinger", "--"}, "no command after --"},
		{[]string{"replay", "nowhere"}, "nowhere is no run"},
		{[]string{"replay", "r", "--client", "pinker"}, `did you mean "pinger"?`},
	} {
		e := s.metasim(c.args...)
		require.Equal(t, 2, e.status, c.args)
		e.says(t, c.says)
	}
}
