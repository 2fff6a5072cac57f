package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// What a thread sleeps for, in words that follow "it waits".
const (
	forTimer  = "for a timer"
	forInput  = "for input"
	forThread = "for another thread or a lock"
	forChild  = "for a child to end"
)

// A sysCall is one that a thread is in, with its arguments.
type sysCall struct {
	number uintptr
	args   [6]uint64
}

// readCall reads the system call that a thread sleeps in; the system tells the user who runs it.
func readCall(dir string) (c sysCall, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "syscall"))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) <= len(c.args) {
		return c, false // or it runs
	}
	number, err := strconv.ParseInt(fields[0], 10, 32)
	if err != nil || number < 0 { // it is in none
		return c, false
	}
	c.number = uintptr(number)
	for i := range c.args {
		if c.args[i], err = strconv.ParseUint(fields[1+i], 0, 64); err != nil {
			return c, false
		}
	}
	return c, true
}

// waitsFor says what a thread sleeps for; empty where the system does not tell.
func waitsFor(dir string) string {
	c, ok := readCall(dir)
	if !ok {
		return ""
	}
	if runtime.GOARCH == "amd64" { // calls that newer machines have no more
		switch c.number {
		case 7: // poll
			return inputOr(int32(c.args[2]) > 0)
		case 23: // select
			return inputOr(c.args[4] != 0)
		case 232: // epoll_wait
			return inputOr(int32(c.args[3]) > 0)
		case 2: // open
			return "to open a file"
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
		return "to open a file"
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

// object says what a file descriptor of a process is.
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
	return link + plain(name)
}

// together says what several threads wait for: each thing once, and last what tells least.
func together(calls []string) string {
	slices.SortFunc(calls, func(a, b string) int {
		if (a == forThread) != (b == forThread) {
			if b == forThread {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	calls = slices.DeleteFunc(slices.Compact(calls), func(c string) bool { return c == "" })
	if n := len(calls); n > 0 && calls[n-1] == forThread {
		calls[n-1] = "for one another"
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
