package monitor

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/plain"
)

// starts starts a program, which is ended with the test.
func starts(t *testing.T, in io.Reader, argv ...string) int {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = in
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		_ = cmd.Wait() // how it ended is of no interest
	})
	return cmd.Process.Pid
}

// eventually examines a process until it does what it is to do.
func eventually(t *testing.T, pid int, does condition, in string) processState {
	t.Helper()
	var v processState
	require.Eventually(t, func() bool {
		v = examine(t.Context(), pid, time.Millisecond)
		return v.condition == does && v.in == in
	}, time.Minute, time.Millisecond, "condition %d: it is %s", does, in)
	return v
}

// It is told what a process sleeps for, and of which file.
func TestAsleep(t *testing.T) {
	eventually(t, starts(t, nil, "sleep", "100"), sleeps, "it waits for a timer")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	eventually(t, starts(t, r, "cat"), sleeps, "it waits to read from a pipe")
	require.NoError(t, r.Close())
	fifo := filepath.Join(t.TempDir(), "a\x1bfifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	both, err := os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	pid := starts(t, both, "cat")
	v := eventually(t, pid, sleeps, "it waits to read from "+plain.Text(fifo))
	require.NoError(t, both.Close())
	require.Equal(t, fmt.Sprintf("process %d sleeps in the kernel (it waits to read from %s), 0 %% of a core", pid, plain.Text(fifo)), v.words(pid))
	require.NotContains(t, v.in, "\x1b")
}

// A FIFO that nobody opens at its other end is named, whatever its path begins at.
func TestOpensAFIFO(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "frames.fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	want := "it waits to open the FIFO " + fifo + ", whose other end no process has opened"
	eventually(t, starts(t, nil, "cat", fifo), sleeps, want)
	eventually(t, starts(t, nil, "env", "-C", dir, "cat", "frames.fifo"), sleeps, want)
	require.Empty(t, textAt("/proc/self/mem", 1))
	require.Empty(t, textAt("/no/such/file", 1))
	require.Equal(t, "a file", opened("/proc/self", 1))
}

// A process that was stopped is told from one that a debugger holds.
func TestStopped(t *testing.T) {
	pid := starts(t, nil, "sleep", "100")
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	v := eventually(t, pid, stopped, "")
	require.Equal(t, fmt.Sprintf("process %d was stopped by a signal: kill -CONT %[1]d lets it go on", pid), v.words(pid))

	held := starts(t, nil, "sleep", "100")
	runtime.LockOSThread() // a thread attaches, not a process
	defer runtime.UnlockOSThread()
	if err := syscall.PtraceAttach(held); err != nil {
		t.Skipf("SKIPPED LOUDLY: this system does not let a test be a debugger: %v", err)
	}
	v = eventually(t, held, traced, "")
	name, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("process %d is held by a debugger: %s, process %d", held, name[:len(name)-1], syscall.Gettid()), v.words(held))
	_, err = syscall.Wait4(held, nil, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.NoError(t, syscall.PtraceDetach(held))
}

// Of a script that waits for its only child the child is looked at.
func TestWorker(t *testing.T) {
	pid := starts(t, nil, "sh", "-c", "sleep 100; true")
	require.Eventually(t, func() bool { return worker(pid) != pid }, time.Minute, time.Millisecond)
	child := worker(pid)
	comm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(child), "comm"))
	require.NoError(t, err)
	require.Contains(t, []string{"sleep\n", "sh\n"}, string(comm), "it is about to be sleep")
	require.Equal(t, os.Getpid(), worker(os.Getpid()))
}

// This process computes; one that was never there has ended.
func TestExamine(t *testing.T) {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		work := 0
		for {
			select {
			case <-stop:
				return
			default:
				work++
			}
		}
	}()
	v := examine(context.Background(), os.Getpid(), examineTime)
	for began := time.Now(); v.cores <= busy && time.Since(began) < 20*time.Second; { // others may have the processors
		v = examine(context.Background(), os.Getpid(), examineTime)
	}
	close(stop)
	<-done
	require.Equal(t, runs, v.condition)
	require.Greater(t, v.cores, busy)
	require.Regexp(t, `^process 7, \d+ % of a core$`, v.words(7))
	v.cores = 0.01
	require.Equal(t, "process 7, 1 % of a core, because other processes have the processors", v.words(7))
	require.Equal(t, hasEnded, examine(context.Background(), 1<<30, examineTime).condition)
}

// What threads wait for is told once, and what tells least comes last.
func TestTogether(t *testing.T) {
	require.Equal(t, "", together([]string{"", ""}))
	require.Equal(t, " for one another", together([]string{forThread, "", forThread}))
	require.Equal(t, " to read from a pipe, or for one another", together([]string{forThread, "to read from a pipe", forThread}))
	require.Equal(t, " a, b, c, or for more", together([]string{"c", forThread, "b", "d", "a"}))
}
