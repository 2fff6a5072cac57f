//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const long = `name: long
until: 20s
clients:
  - {name: pinger, model: ping, with: {rounds: 4000, out: PING, in: PONG, size: 200}}
  - {name: ponger, model: echo, with: {in: PING, out: PONG}}
links:
  - {delay: 1ms}
`

// A run whose metasim is killed goes on, as if it had not been, and says what became of it as metasim run does.
func TestResume(t *testing.T) {
	s := newStage(t)
	s.file("long.yaml", long)
	quiet, e := s.run("long.yaml", "--out", "quiet", "--transport", "unix")
	require.Equal(t, 0, e.status)
	whole, err := os.Stat(filepath.Join(s.dir, "quiet", "journal"))
	require.NoError(t, err)
	p := s.start(nil, "run", "long.yaml", "--out", "cut", "--transport", "unix", "--progress", "none")
	require.Eventually(t, func() bool {
		info, err := os.Stat(filepath.Join(s.dir, "cut", "journal"))
		return err == nil && info.Size() > whole.Size()/4
	}, patience/2, time.Millisecond)
	goesOn := s.metasim("resume", "cut")
	require.Equal(t, 1, goesOn.status)
	require.Contains(t, goesOn.err, "the run still goes on: another metasim writes its journal")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGKILL))
	require.Equal(t, -1, p.wait().status, "it was killed")
	require.Equal(t, 3, s.metasim("replay", "cut").status, "it was cut off")

	var o outcome
	resumed := s.metasim("resume", "cut", "--json")
	require.Equal(t, 0, resumed.status, resumed.err)
	resumed.object(t, &o)
	require.Equal(t, []string{quiet.Digest, quiet.SendsDigest, quiet.ResultsDigest}, []string{o.Digest, o.SendsDigest, o.ResultsDigest})
	require.Equal(t, quiet.Messages, o.Messages)
	require.Equal(t, 0, s.metasim("replay", "cut").status)
	require.Equal(t, 0, s.metasim("diff", "quiet", "cut").status)
	require.Equal(t, 0, s.metasim("report", "cut").status)

	again := s.metasim("resume", "cut")
	require.Equal(t, 1, again.status)
	require.Contains(t, again.err, "has ended; only one that was cut off can go on")
	require.Equal(t, 2, s.metasim("resume", "nothing").status)
}

// A run that was stopped by a signal can be resumed too, more than once. It uses its journal and its checkpoints.
func TestResumeAfterASignal(t *testing.T) {
	s := newStage(t)
	s.file("long.yaml", long)
	quiet, e := s.run("long.yaml", "--out", "quiet", "--transport", "unix")
	require.Equal(t, 0, e.status)
	whole, err := os.Stat(filepath.Join(s.dir, "quiet", "journal"))
	require.NoError(t, err)
	command := []string{"run", "long.yaml", "--out", "cut", "--transport", "unix", "--progress", "none"}
	for i, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := s.start(nil, command...)
		require.Eventually(t, func() bool {
			info, err := os.Stat(filepath.Join(s.dir, "cut", "journal"))
			return err == nil && info.Size() > whole.Size()*int64(i+1)/4
		}, patience/2, time.Millisecond)
		require.NoError(t, p.cmd.Process.Signal(signal))
		e := p.wait()
		require.Equal(t, 1, e.status, "it was stopped before its end")
		require.Contains(t, e.out, "it was stopped, and goes on with: metasim resume cut\n")
		require.Contains(t, s.metasim("clean", ".", "--keep", "0").out, "kept cut: it still goes on, or was cut off or stopped")
		command = []string{"resume", "cut", "--progress", "none"}
	}
	var o outcome
	resumed := s.metasim("resume", "cut", "--json")
	require.Equal(t, 0, resumed.status, resumed.err)
	resumed.object(t, &o)
	require.Equal(t, []string{quiet.Digest, quiet.SendsDigest, quiet.ResultsDigest}, []string{o.Digest, o.SendsDigest, o.ResultsDigest})
	require.Equal(t, 0, s.metasim("replay", "cut").status)
	require.Equal(t, 0, s.metasim("fsck", "cut").status)
	require.Equal(t, 1, s.metasim("resume", "cut").status)
}
