//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"

	"metasim/metasim"
	"metasim/record/journal"
)

// appears waits for a file that a player notes, and returns the process id in it.
func (p *running) appears(file string) int {
	p.Helper()
	var pid int
	require.Eventually(p, func() bool {
		b, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(string(b))
		return err == nil
	}, patience/2, 5*time.Millisecond, "%s: %s", file, &p.err)
	return pid
}

// gone fails if a process is still there. One that nobody has waited for yet counts as gone.
func (s *stage) gone(pid int) {
	s.Helper()
	require.Eventually(s, func() bool {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, 5*time.Second, 5*time.Millisecond, "process %d is left", pid)
}

func TestKilled(t *testing.T) {
	s := raced(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", withCommand("stuck PING PONG", "", flag))
	p := s.start(nil, "run", "c.yaml", "--json")
	pid := p.appears(flag)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	e := p.wait()
	require.Equal(t, 1, e.status)
	var o outcome
	e.object(t, &o)
	require.False(t, o.OK)
	for _, part := range []string{`"ponger"`, "signal: killed", "about to hang", "at 60ms", "promised"} {
		require.Contains(t, o.Error, part)
	}
	require.Equal(t, "lost", o.Clients[1].Exit)
	require.Equal(t, "aborted", o.Clients[0].Exit)
	require.Equal(t, 5, o.Messages.Sent, "what was known until then")
	require.Equal(t, 0, s.metasim("log", o.RunDir).status, "the journal is readable")
	s.clean()
}

func TestDetached(t *testing.T) {
	s := raced(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", strings.Replace(withCommand("stuck PING PONG", "until: 2s", flag), "env:", "on_exit: detach\n    env:", 1))
	p := s.start(nil, "run", "c.yaml", "--json")
	require.NoError(t, syscall.Kill(p.appears(flag), syscall.SIGKILL))
	e := p.wait()
	require.Equal(t, 0, e.status)
	require.Contains(t, e.err, "detached")
	var o outcome
	e.object(t, &o)
	require.True(t, o.OK)
	require.False(t, o.Deterministic)
	require.Contains(t, e.out, `"deterministic":false`)
	require.Equal(t, "detached", o.Clients[1].Exit)
	require.Equal(t, "left", o.Clients[0].Exit)
	require.Equal(t, []metasim.ClientID{1}, s.cuts(o.RunDir), "the cut is in the journal")
	s.clean()
}

// cuts names the clients that were cut off, as the journal of a run tells.
func (s *stage) cuts(runDir string) (cut []metasim.ClientID) {
	dir, err := journal.Open(filepath.Join(s.dir, runDir))
	require.NoError(s, err)
	r, err := dir.OpenJournal(nil)
	require.NoError(s, err)
	defer func() { require.NoError(s, r.Close()) }()
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			return cut
		}
		require.NoError(s, err)
		if leave, ok := entry.Event.(*metasim.Leave); ok && leave.Cut {
			cut = append(cut, leave.Client)
		}
	}
}

// What cannot be printed is not taken for done.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("SKIPPED LOUDLY: this system has no /dev/full")
	}
	defer func() { require.NoError(t, full.Close()) }()
	s := newStage(t)
	s.file("p.yaml", pingPong)
	self, err := os.Executable()
	require.NoError(t, err)
	s.run("p.yaml", "--out", "ran")
	for _, args := range []string{"run p.yaml", "run p.yaml --json", "log ran", "log ran --json", "verify p.yaml", "schema", "version",
		"validate p.yaml", "validate p.yaml --json"} {
		cmd := exec.Command(self, strings.Fields(args)...)
		cmd.Dir, cmd.Stdout = s.dir, full
		cmd.Env = append(os.Environ(), testprogram.Env("metasim"), "TMPDIR="+s.temp)
		require.Error(t, cmd.Run(), args)
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), args)
	}
}

// Ctrl-C, or the terminal being closed: nothing is left, but what happened so far.
func TestInterrupted(t *testing.T) {
	// A process that hears a signal gives its children the default for it, also where the tests run under nohup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	for _, c := range []struct {
		signal syscall.Signal
		part   string
	}{{syscall.SIGINT, "stuck"}, {syscall.SIGTERM, "stuck"}, {syscall.SIGHUP, "stuck"}, {syscall.SIGINT, "parent"}} {
		t.Run(c.signal.String()+" "+c.part, func(t *testing.T) {
			s := raced(t)
			flag, child := filepath.Join(s.dir, "here"), filepath.Join(s.dir, "child")
			s.file("c.yaml", withCommand(c.part+" PING PONG", "", flag, child))
			p := s.start(nil, "run", "c.yaml", "--json", "--transport", "unix")
			pids := []int{p.appears(flag)}
			if c.part == "parent" {
				pids = append(pids, p.appears(child))
			}
			require.NoError(t, p.cmd.Process.Signal(c.signal))
			// One who cannot wait must not make it worse.
			require.NoError(t, p.cmd.Process.Signal(c.signal))
			e := p.wait()
			require.Equal(t, 1, e.status)
			e.says(t, "stopped by signal: "+c.signal.String())
			var o outcome
			e.object(t, &o)
			require.Contains(t, o.Error, "stopped by signal")
			for _, pid := range pids {
				s.gone(pid)
			}
			s.clean()
			log := s.metasim("log", o.RunDir, "--json")
			require.Equal(t, 0, log.status)
			require.Equal(t, 5, strings.Count(log.out, "\n"), "five messages were sent")
		})
	}
}

// A metasim that is killed itself leaves a journal, and its clients end with it.
func TestKilledItself(t *testing.T) {
	s := newStage(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", strings.Replace(withCommand("echo PING PONG", "rate: 1"), "rounds: 10", "rounds: 1000000", 1))
	p := s.start(nil, "run", "c.yaml", "--out", "out", "--transport", "unix")
	require.Eventually(t, func() bool {
		info, err := os.Stat(filepath.Join(s.dir, "out", "journal"))
		return err == nil && info.Size() > 200
	}, patience/2, 5*time.Millisecond)
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status)
	require.NoFileExists(t, flag)
	e := s.metasim("log", "out", "--json")
	require.NotEmpty(t, e.out, "the good part is there")
}

func TestNeverJoins(t *testing.T) {
	t.Run("it ends", func(t *testing.T) {
		s := newStage(t)
		s.file("c.yaml", withCommand("exit3 x", ""))
		o, e := s.run("c.yaml")
		require.Equal(t, 1, e.status)
		for _, part := range []string{`"ponger"`, "before it joined", "exit status 3", "| line 11\n", "| line 30"} {
			require.Contains(t, o.Error, part)
		}
		require.NotContains(t, o.Error, "line 10\n", "the last 20 lines")
		require.Equal(t, "lost", o.Clients[1].Exit)
		s.clean()
	})
	t.Run("it waits", func(t *testing.T) {
		s := newStage(t)
		flag := filepath.Join(s.dir, "here")
		for limit := time.Second; ; limit *= 4 { // on a busy machine the program takes long to begin
			s.file("c.yaml", withCommand("absent", "start_timeout: "+limit.String(), flag))
			e := s.metasim("run", "c.yaml", "--json")
			require.Equal(t, 1, e.status)
			e.says(t, "ponger has not joined after "+limit.String(), "start_timeout")
			if text, err := os.ReadFile(flag); err == nil {
				pid, err := strconv.Atoi(string(text))
				require.NoError(t, err)
				s.gone(pid)
				break
			}
		}
		s.clean()
	})
	t.Run("the command has gone", func(t *testing.T) {
		s := newStage(t)
		s.file("c.yaml", strings.Replace(withCommand("echo PING PONG", ""), `"BIN"`, `"./gone"`, 1))
		o, e := s.run("c.yaml")
		require.Equal(t, 2, e.status)
		require.Contains(t, o.Error, `there is no program "./gone"`)
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, "gone"), []byte("not a program"), 0o755))
		o, e = s.run("c.yaml")
		require.Equal(t, 1, e.status)
		e.says(t, `"ponger" cannot be started`)
		require.Equal(t, "absent", o.Clients[1].Exit)
		s.clean()
	})
}
