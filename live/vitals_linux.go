package live

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// userHZ is the unit of times in /proc: it is 100 on every Linux that Go runs on, whatever the kernel counts in.
const userHZ = 100

// probe looks at a process in /proc. It reports false where there is nothing to compare with later.
func probe(pid int) (glimpse, bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	main, cpu, ok := readStat(filepath.Join(dir, "stat"))
	if !ok {
		return glimpse{condition: HasEnded}, false
	}
	g := glimpse{at: time.Now(), condition: conditions[main], cpu: cpu}
	switch g.condition {
	case HasEnded:
		return g, false
	case Sleeps:
		tasks, err := filepath.Glob(filepath.Join(dir, "task", "*", "stat"))
		if err != nil || len(tasks) <= 1 {
			g.in = waitsIn(dir)
			break
		}
		g.in = fmt.Sprintf("all of its %d threads", len(tasks))
		for _, task := range tasks {
			if c, _, ok := readStat(task); ok && (conditions[c] == Runs || conditions[c] == Stuck) {
				g.condition, g.in = conditions[c], ""
			}
		}
	case Stuck:
		g.in = waitsIn(dir)
	}
	return g, true
}

// conditions are the states of proc(5).
var conditions = map[byte]Condition{
	'R': Runs, 'S': Sleeps, 'I': Sleeps, 'D': Stuck, 'T': Stopped, 't': Stopped, 'Z': HasEnded, 'X': HasEnded,
}

// readStat reads the state and the CPU time of a process or a thread. The name of its program, which comes before them, may
// hold anything, and is in parentheses.
func readStat(file string) (state byte, cpu time.Duration, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const utime, stime = 11, 12 // counted from the state on
	if len(fields) <= stime || len(fields[0]) != 1 {
		return 0, 0, false
	}
	for _, f := range fields[utime : stime+1] {
		ticks, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, 0, false
		}
		cpu += time.Duration(ticks) * time.Second / userHZ
	}
	return fields[0][0], cpu, true
}

// waitsIn returns the system call that a process's first thread sleeps in; the system tells the user who runs it.
func waitsIn(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "syscall"))
	number, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, numeric := strconv.Atoi(number)
	if err != nil || numeric != nil {
		return ""
	}
	if runtime.GOARCH == "amd64" { // calls that newer machines have no more
		switch n {
		case 7, 23, 232:
			return "it waits for input"
		case 34:
			return "it waits for a signal"
		}
	}
	switch uintptr(n) {
	case syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_NANOSLEEP:
		return "it waits for a timer"
	case syscall.SYS_READ, syscall.SYS_READV, syscall.SYS_RECVFROM, syscall.SYS_RECVMSG, syscall.SYS_ACCEPT, syscall.SYS_ACCEPT4:
		return "it waits to read"
	case syscall.SYS_WRITE, syscall.SYS_WRITEV, syscall.SYS_SENDTO, syscall.SYS_SENDMSG:
		return "it waits to write"
	case syscall.SYS_FUTEX:
		return "it waits for another thread, or a lock"
	case syscall.SYS_PPOLL, syscall.SYS_PSELECT6, syscall.SYS_EPOLL_PWAIT:
		return "it waits for input"
	case syscall.SYS_WAIT4, syscall.SYS_WAITID:
		return "it waits for a child to end"
	}
	return "in system call " + number
}
