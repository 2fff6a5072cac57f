package shm

import (
	"errors"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The operations of futex(2), which golang.org/x/sys does not name. They are the ones without FUTEX_PRIVATE_FLAG: the
// word is known to both processes by the page it lies in, not by its address.
const (
	futexWait = 0
	futexWake = 1
)

// sleep blocks this thread while the word is value, until a wake, a signal or the end of patience (which is positive).
// It may return for no reason at all: the caller looks again.
func sleep(word *atomic.Uint32, value uint32, patience time.Duration) error {
	ts := unix.NsecToTimespec(int64(patience))
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno == 0 || errors.Is(errno, unix.EAGAIN) || errors.Is(errno, unix.EINTR) || errors.Is(errno, unix.ETIMEDOUT) {
		return nil
	}
	return errno
}

// wake ends all sleeps on the word. It never blocks, so the scheduler need not hear of it. It cannot fail on memory
// that is mapped; if it did, the sleeper would look again soon.
func wake(word *atomic.Uint32) {
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, math.MaxInt32, 0, 0, 0)
}
