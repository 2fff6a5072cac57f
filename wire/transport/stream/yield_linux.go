package stream

import "golang.org/x/sys/unix"

// yield lets another thread have this processor, if one wants it. runtime.Gosched does not: it is for goroutines, and wakes a thread for the one that it takes from this.
func yield() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	return errno == 0
}
