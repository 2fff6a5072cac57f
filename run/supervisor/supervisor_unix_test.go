//go:build unix

package supervisor_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/run/supervisor"
)

// The supervisor is this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "supervise" {
		if err := supervisor.Serve(os.Stdin, os.Stdout, "1"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A stage is a supervisor, and a directory for the output.
type stage struct {
	*testing.T
	*supervisor.Supervisor
	dir string
}

func newStage(t *testing.T) *stage {
	self, err := os.Executable()
	require.NoError(t, err)
	s, err := supervisor.Start([]string{self, "supervise"}, func(client, text string) { t.Errorf("%s: %s", client, text) })
	require.NoError(t, err)
	return &stage{t, s, t.TempDir()}
}

// launch starts a shell script as the program of a client.
func (s *stage) launch(client, script string) *supervisor.Process {
	s.Helper()
	p, err := s.Launch(s.Context(), s.program(client, "sh", "-c", script))
	require.NoError(s, err)
	return p
}

func (s *stage) program(client string, argv ...string) supervisor.Program {
	return supervisor.Program{Client: client, Argv: argv, Dir: s.dir, Env: append(os.Environ(), "METASIM_CLIENT="+client),
		Stdout: filepath.Join(s.dir, client+".stdout"), Stderr: filepath.Join(s.dir, client+".stderr"), Limit: 1 << 20}
}

func (s *stage) stdout(client string) string {
	s.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, client+".stdout"))
	require.NoError(s, err)
	return string(b)
}

// How programs end is told, when all that they wrote is on disk, also if what they started still holds their output.
func TestEnds(t *testing.T) {
	s := newStage(t)
	for script, want := range map[string]string{
		"exit 0": "", "exit 3": "exit status 3", "kill -9 $$": "signal: killed", "kill $$": "signal: terminated",
	} {
		p := s.launch("a", "seq 20000; sleep 100 & "+script)
		<-p.Done()
		require.True(t, strings.HasSuffix(s.stdout("a"), "\n20000\n"), script)
		if want == "" {
			require.NoError(t, p.Err())
		} else {
			require.EqualError(t, p.Err(), want)
		}
		require.NotEmpty(t, p.Strays())
		require.Equal(t, "sleep 100", p.Strays()[0].Command)
	}
	p := s.launch("b", "sleep 0.01 & exit 0")
	<-p.Done()
	require.Empty(t, p.Strays(), "it ends by itself")
	strays, err := s.Close()
	require.NoError(t, err)
	require.Len(t, strays, 4)
}

// Why a program cannot be started is told as by os/exec.
func TestRefused(t *testing.T) {
	s := newStage(t)
	_, err := s.Launch(t.Context(), s.program("a", filepath.Join(s.dir, "gone")))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "gone")
	p := s.program("a", "sh")
	p.Stdout = filepath.Join(s.dir, "no", "directory")
	_, err = s.Launch(t.Context(), p)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = s.Close()
	require.NoError(t, err)
	_, err = s.Launch(t.Context(), s.program("a", "sh"))
	require.ErrorIs(t, err, supervisor.ErrGone)
}

// A supervisor that is ended takes the programs with it, and that is no exit of theirs.
func TestGone(t *testing.T) {
	s := newStage(t)
	p := s.launch("a", "echo $PPID; exec sleep 100")
	require.Eventually(t, func() bool { return s.stdout("a") != "" }, time.Minute, time.Millisecond)
	parent, err := strconv.Atoi(strings.TrimSpace(s.stdout("a")))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(parent, syscall.SIGKILL))
	<-p.Done()
	require.ErrorIs(t, p.Err(), supervisor.ErrGone)
	require.Eventually(t, func() bool { return syscall.Kill(p.PID(), 0) != nil }, time.Minute, time.Millisecond)
	_, err = s.Close()
	require.Error(t, err)
}

// A supervisor that was stopped does not keep its caller waiting.
func TestStopped(t *testing.T) {
	s := newStage(t)
	p := s.launch("a", "trap '' TERM; echo $PPID; while :; do sleep 1; done")
	require.Eventually(t, func() bool { return s.stdout("a") != "" }, time.Minute, time.Millisecond)
	parent, err := strconv.Atoi(strings.TrimSpace(s.stdout("a")))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(parent, syscall.SIGSTOP))
	p.Terminate()
	p.Kill()
	require.ErrorIs(t, p.Err(), supervisor.ErrGone)
	_, err = s.Close()
	require.Error(t, err)
}

// A supervisor that is killed leaves nothing behind: neither the programs, nor what has left their groups and sessions.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED LOUDLY: only Linux has subreapers")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("SKIPPED LOUDLY: there is no setsid (util-linux), so no process of the test leaves its session")
	}
	s := newStage(t)
	p := s.launch("a", "setsid sh -c 'setsid sleep 100 & echo $!; exec sleep 100' & echo $!; echo $PPID; exec sleep 100")
	require.Eventually(t, func() bool { return len(strings.Fields(s.stdout("a"))) == 3 }, time.Minute, time.Millisecond)
	require.NoError(t, syscall.Kill(parent(t, p.PID()), syscall.SIGKILL))
	_, err := s.Close()
	require.Error(t, err)
	for _, field := range strings.Fields(s.stdout("a")) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d of %s goes on", pid, s.stdout("a"))
	}
}

// A supervisor of many programs has no thread for each. It would ask each of its threads for its children whenever a program ends.
func TestThreads(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED LOUDLY: only Linux tells of all children at once")
	}
	const programs = 100
	s := newStage(t)
	supervisor := 0
	for i := range programs {
		p := s.launch(fmt.Sprint("a", i), "exec sleep 100")
		supervisor = parent(t, p.PID())
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", supervisor))
	require.NoError(t, err)
	require.Less(t, len(threads), programs/2)
	_, err = s.Close()
	require.NoError(t, err)
}

// parent returns the parent of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	parent, err := strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1])
	require.NoError(t, err)
	return parent
}

// Signals that are for everybody, as Ctrl-C at a terminal is, do not end the supervisor, and its programs do not inherit that.
func TestSignals(t *testing.T) {
	s := newStage(t)
	p := s.launch("a", "for s in INT TERM HUP; do kill -$s $PPID; done; kill -INT $$; echo deaf")
	<-p.Done()
	require.EqualError(t, p.Err(), "signal: interrupt")
	require.Empty(t, s.stdout("a"))
	_, err := s.Close()
	require.NoError(t, err)
}
