//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a run leaves is for who ran it alone, and the secrets that its commands were given are not in it.
func TestPrivateRun(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", strings.Replace(withCommand("echo PING PONG", ""), "env: [", "env: [PASS=hunter2, ", 1))
	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "a/b", "--report").status)
	require.NoError(t, filepath.WalkDir(filepath.Join(s.dir, "a", "b"), func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		if !e.IsDir() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(b), "hunter2", path)
		}
		return nil
	}))
	e := s.metasim("replay", "a/b")
	require.Equal(t, 0, e.status, "the run as a whole needs no command")
	e = s.metasim("replay", "a/b", "--client", "ponger")
	require.Equal(t, 1, e.status)
	e.says(t, `has not recorded the values of PASS, which the command of client "ponger" needs`, "--keep-env")
	p := s.start([]string{"PASS=hunter2", "TEST_PROGRAM=metasim"}, "replay", "a/b", "--client", "pinger")
	require.Equal(t, 0, p.wait().status)
	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "kept", "--keep-env").status)
	require.Equal(t, 0, s.metasim("replay", "kept", "--client", "ponger").status)
	s.clean()
}

// The sockets of a metasim that was killed are removed by the next run; those of one that goes on are not.
func TestStaleSockets(t *testing.T) {
	s := newStage(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", withCommand("stuck PING PONG", "", flag))
	killed := s.start(nil, "run", "c.yaml", "--out", "killed")
	killed.appears(flag)
	require.NoError(t, killed.cmd.Process.Kill())
	killed.wait()
	left, err := os.ReadDir(s.temp)
	require.NoError(t, err)
	require.Len(t, left, 2, "of clients, and for those who ask")

	require.NoError(t, os.Remove(flag))
	lives := s.start(nil, "run", "c.yaml", "--out", "lives")
	lives.appears(flag)
	past := time.Now().Add(-time.Minute) // not now: a socket without a process may be one that is just made
	all, err := filepath.Glob(filepath.Join(s.temp, "*", "*"))
	require.NoError(t, err)
	for _, socket := range all {
		require.NoError(t, os.Chtimes(socket, past, past))
	}
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml").status)
	left, err = os.ReadDir(s.temp)
	require.NoError(t, err)
	require.Len(t, left, 2, "those of the run that goes on")
	require.Equal(t, 0, s.metasim("ctl", "quit", "--run", "lives").status)
	lives.wait()
	s.clean()
}

// A run that is refused leaves no directory.
func TestRefusedPage(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	e := s.metasim("run", "p.yaml", "--http", "0.0.0.0:0")
	require.Equal(t, 1, e.status)
	require.NoDirExists(t, filepath.Join(s.dir, "runs"))
	s.clean()
}
