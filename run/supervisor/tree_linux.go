package supervisor

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// becomeSubreaper makes this process the parent of all processes below it that lose their own.
func becomeSubreaper() error {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// notifyExits returns a channel that tells when a child has ended.
func notifyExits() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCHLD)
	return c
}

// children lists the children of this process.
func children() (pids []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is good
	if len(lists) == 0 {
		return childrenByParent()
	}
	for _, list := range lists {
		b, _ := os.ReadFile(list) // a thread that has ended has none
		for _, field := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// childrenByParent does what children does where the kernel keeps no list: it asks every process for its parent.
func childrenByParent() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	for _, stat := range all {
		b, _ := os.ReadFile(stat)                                           // a process that has ended is none
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // after its name, which may hold anything
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// await waits for nothing: reapNext tells of each process that ends.
func await(cmd *exec.Cmd, _ func(how string)) {
	_ = cmd.Process.Release() // it never fails
}

// reapNext takes one child that has ended, and says how: in the words of [os.ProcessState], empty for exit status 0. The number is 0 if none has.
func reapNext() (pid int, how string) {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	switch {
	case err != nil || pid <= 0: // there is no child, or none that has ended
		return 0, ""
	case status.Signaled():
		how = "signal: " + status.Signal().String()
		if status.CoreDump() {
			how += " (core dumped)"
		}
	case status.ExitStatus() != 0:
		how = "exit status " + strconv.Itoa(status.ExitStatus())
	}
	return pid, how
}

// reap takes a child that has ended, and reports whether it had.
func reap(pid int) bool {
	reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return err != nil || reaped == pid
}

// group returns the number of the group of a process; 0 if it has ended.
func group(pid int) int {
	id, err := syscall.Getpgid(pid)
	if err != nil {
		return 0
	}
	return id
}

// variable returns a variable of the environment that a process was started with.
func variable(pid int, name string) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // a process that has ended has none
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// endMarked ends the processes that have the mark of another supervisor in their environment, and returns those that it found first.
func endMarked(mark string) (found []Stray) {
	asked := map[int]bool{}
	for began := time.Now(); ; <-time.After(lookEvery) {
		waited, lives := time.Since(began), false
		all, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is good
		for _, path := range all {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil || mark == "" || variable(pid, MarkName) != mark {
				continue
			}
			lives = true
			switch {
			case waited > termWait:
				kill(pid)
			case !asked[pid]:
				found = append(found, Stray{variable(pid, "METASIM_CLIENT"), pid, command(pid)})
				terminate(pid)
			}
			asked[pid] = true
		}
		if !lives || waited > termWait+killWait {
			return found
		}
	}
}

// command returns the command line of a process.
func command(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // a process that has ended has none
	return strings.Join(strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"), " ")
}
