package monitor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"metasim/internal/plain"
)

// maxThreads bounds how many threads of a process are read.
const maxThreads = 200

// procDir is the directory of a process in /proc.
func procDir(pid int) string { return filepath.Join(procfs.DefaultMountPoint, strconv.Itoa(pid)) }

// taskDir is the directory of a thread of a process in /proc.
func taskDir(pid, thread int) string {
	return filepath.Join(procDir(pid), "task", strconv.Itoa(thread))
}

// probe reads a process in /proc.
func probe(pid int) processState {
	dir := procDir(pid)
	process, err := procfs.NewProc(pid)
	if err != nil {
		return processState{condition: hasEnded}
	}
	stat, err := process.Stat()
	if err != nil {
		return processState{condition: hasEnded}
	}
	s := processState{at: time.Now(), condition: conditions[stat.State], cpu: time.Duration(stat.CPUTime() * float64(time.Second))}
	switch s.condition {
	case sleeps:
		s.readThreads(pid)
	case stuck:
		s.readCall(dir)
	case traced:
		s.tracer = tracer(dir)
	}
	return s
}

// conditions are the states of proc(5).
var conditions = map[string]condition{
	"R": runs, "S": sleeps, "I": sleeps, "D": stuck, "T": stopped, "t": traced, "Z": hasEnded, "X": hasEnded,
}

// readThreads reads the other threads of a process whose first thread sleeps: they may compute.
func (s *processState) readThreads(pid int) {
	threads, err := procfs.AllThreads(pid)
	if err != nil || len(threads) <= 1 {
		s.readCall(procDir(pid))
		return
	}
	var calls []string
	for _, t := range threads[:min(len(threads), maxThreads)] {
		stat, err := t.Stat()
		if c := conditions[stat.State]; err == nil && (c == runs || c == stuck) {
			s.condition = c
			return
		}
		calls = append(calls, waitsFor(taskDir(pid, t.PID)))
	}
	s.in = fmt.Sprintf("its %d threads wait", len(threads)) + together(calls)
}

// readCall says what the only thread of a process waits for.
func (s *processState) readCall(dir string) {
	if call := waitsFor(dir); call != "" {
		s.in = "it waits " + call
	}
}

// tracer names the debugger of a process; empty: not known.
func tracer(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "\nTracerPid:")
	pid := 0
	if _, err := fmt.Sscan(rest, &pid); err != nil || pid == 0 {
		return ""
	}
	name, err := os.ReadFile(filepath.Join(procDir(pid), "comm"))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s, process %d", plain.Text(strings.TrimSpace(string(name))), pid)
}

// worker returns the process that does the work of a started process: itself, or the program that a script waits for.
func worker(pid int) int {
	const generations = 8
	for range generations {
		dir := taskDir(pid, pid)
		if waitsFor(dir) != forChild {
			return pid
		}
		children, err := os.ReadFile(filepath.Join(dir, "children"))
		all := strings.Fields(string(children))
		if err != nil || len(all) != 1 {
			return pid
		}
		child, err := strconv.Atoi(all[0])
		if err != nil {
			return pid
		}
		pid = child
	}
	return pid
}

// What a thread waits for, in words that follow "it waits".
const (
	forTimer  = "for a timer"
	forInput  = "for input"
	forThread = "for another thread or a lock"
	forChild  = "for a child to end"
)

// A sysCall is a system call that a thread is in, with its arguments.
type sysCall struct {
	number int
	args   [6]uint64
}

// readCall reads the system call that a thread waits in. The system tells it to the owner of the process.
func readCall(dir string) (c sysCall, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "syscall"))
	if err != nil { // not permitted
		return c, false
	}
	// A thread that runs, or waits outside of a system call, has no number or no arguments.
	a := &c.args
	_, err = fmt.Sscan(string(text), &c.number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5])
	return c, err == nil && c.number >= 0
}

// waitsFor says what a thread waits for; empty: not known.
func waitsFor(dir string) string {
	c, ok := readCall(dir)
	if !ok {
		return ""
	}
	if runtime.GOARCH == "amd64" { // calls that newer architectures do not have
		switch c.number {
		case 7: // poll
			return inputOr(int32(c.args[2]) > 0)
		case 23: // select
			return inputOr(c.args[4] != 0)
		case 232: // epoll_wait
			return inputOr(int32(c.args[3]) > 0)
		case 2: // open
			return "to open " + opened(dir, c.args[0])
		case 34: // pause
			return "for a signal"
		}
	}
	switch c.number {
	case syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_NANOSLEEP:
		return forTimer
	case syscall.SYS_READ, syscall.SYS_READV, syscall.SYS_RECVFROM, syscall.SYS_RECVMSG:
		return "to read" + object(dir, " from ", c.args[0])
	case syscall.SYS_WRITE, syscall.SYS_WRITEV, syscall.SYS_SENDTO, syscall.SYS_SENDMSG:
		return "to write" + object(dir, " to ", c.args[0])
	case syscall.SYS_ACCEPT, syscall.SYS_ACCEPT4, syscall.SYS_CONNECT:
		return "for a connection"
	case syscall.SYS_OPENAT:
		return "to open " + opened(dir, c.args[1])
	case syscall.SYS_FLOCK, syscall.SYS_FCNTL:
		return "for a lock on" + object(dir, " ", c.args[0])
	case syscall.SYS_FUTEX:
		return forThread
	case syscall.SYS_PPOLL:
		return inputOr(c.args[2] != 0)
	case syscall.SYS_PSELECT6:
		return inputOr(c.args[4] != 0)
	case syscall.SYS_EPOLL_PWAIT:
		return inputOr(int32(c.args[3]) > 0)
	case syscall.SYS_WAIT4, syscall.SYS_WAITID:
		return forChild
	case syscall.SYS_RT_SIGTIMEDWAIT, syscall.SYS_RT_SIGSUSPEND:
		return "for a signal"
	}
	return fmt.Sprintf("in system call %d", c.number)
}

func inputOr(timer bool) string {
	if timer {
		return forInput + " or a timer"
	}
	return forInput
}

// object names what a file descriptor of a process is.
func object(dir, link string, fd uint64) string {
	name, err := os.Readlink(filepath.Join(dir, "fd", strconv.FormatUint(fd, 10)))
	switch {
	case err != nil:
		return link + "file " + strconv.FormatUint(fd, 10)
	case strings.HasPrefix(name, "socket:"):
		return link + "a socket"
	case strings.HasPrefix(name, "pipe:"):
		return link + "a pipe"
	}
	return link + plain.Text(name)
}

// opened names the file whose path a thread has at an address, as far as it can be read. To open a FIFO takes another process that
// opens its other end.
func opened(dir string, address uint64) string {
	name := textAt(filepath.Join(dir, "mem"), int64(address))
	if name == "" {
		return "a file"
	}
	path := filepath.Join(dir, "root", name)
	if !filepath.IsAbs(name) {
		path = filepath.Join(dir, "cwd", name)
		if from, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil {
			name = filepath.Join(from, name)
		}
	}
	name = plain.Text(name)
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return "the FIFO " + name + ", whose other end no process has opened"
	}
	return name
}

// textAt reads a path that ends with NUL in the memory of a process; empty if it cannot be read.
func textAt(memory string, address int64) string {
	f, err := os.Open(memory)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	text := make([]byte, 4096)
	n, err := f.ReadAt(text, address) // the memory may end behind the path
	path, _, ends := bytes.Cut(text[:n], []byte{0})
	if err != nil && !ends {
		return ""
	}
	return string(path)
}

// together says what several threads wait for: each thing once, the least specific one last.
func together(calls []string) string {
	slices.Sort(calls)
	calls = slices.DeleteFunc(slices.Compact(calls), func(c string) bool { return c == "" })
	if i, found := slices.BinarySearch(calls, forThread); found {
		calls = append(slices.Delete(calls, i, i+1), "for one another")
	}
	const most = 3
	if len(calls) > most {
		calls = append(calls[:most], "for more")
	}
	switch n := len(calls); n {
	case 0:
		return ""
	case 1:
		return " " + calls[0]
	default:
		return " " + strings.Join(calls[:n-1], ", ") + ", or " + calls[n-1]
	}
}
