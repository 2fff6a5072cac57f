package stream

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Go's monitor thread sleeps while the process has nothing to do. The next system call that the scheduler sees wakes it, and then it looks around every 20 µs until the process has nothing to
// do again. In a lock step that happens at each step: the monitor takes a fifth of the processor time of a client. But calls on a socket do not wait, so the scheduler need not see them.
//
// Somebody needs the monitor: when a goroutine computes for long, it gives others a turn, and sees what has come for them. So the calls of a program that comes back late are seen. The first time
// that it is late nobody has woken the monitor; then others wait until a processor is free, or something calls the system.

// The calls of a socket are system calls that do not wait.
type calls struct {
	mayHide bool        // this side has dialed, and a goroutine that computes leaves another processor to the rest of the program
	hidden  atomic.Bool // Go's scheduler does not see them
}

// mostUnseen is the size of the largest call that the scheduler does not see: it may use the processor during a longer one.
const mostUnseen = 64 << 10

// hide implements hider. The calls of a server stay visible, as its process may have models that compute at the same time.
func (c *calls) hide(soon bool) { c.hidden.Store(soon && c.mayHide) }

func (c *calls) hides(b []byte) bool { return len(b) > 0 && len(b) <= mostUnseen && c.hidden.Load() }

// readFrom is read(2).
func (c *calls) readFrom(fd int, b []byte) (int, error) {
	if !c.hides(b) {
		return syscall.Read(fd, b)
	}
	n, _, failed := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return result(n, failed)
}

// writeTo is write(2).
func (c *calls) writeTo(fd int, b []byte) (int, error) {
	if !c.hides(b) {
		return syscall.Write(fd, b)
	}
	n, _, failed := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return result(n, failed)
}

// receiveFrom is recvmsg(2).
func (c *calls) receiveFrom(fd int, b, oob []byte) (n, oobn, flags int, err error) {
	if !c.hides(b) {
		n, oobn, flags, _, err = unix.Recvmsg(fd, b, oob, unix.MSG_CMSG_CLOEXEC)
		return n, oobn, flags, err
	}
	part := unix.Iovec{Base: &b[0]}
	part.SetLen(len(b))
	message := unix.Msghdr{Iov: &part, Control: &oob[0]}
	message.SetIovlen(1)
	message.SetControllen(len(oob))
	got, _, failed := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), unix.MSG_CMSG_CLOEXEC)
	n, err = result(got, failed)
	return n, int(message.Controllen), int(message.Flags), err
}

func result(n uintptr, failed syscall.Errno) (int, error) {
	if failed != 0 {
		return -1, failed
	}
	return int(n), nil
}
