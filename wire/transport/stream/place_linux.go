package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A place is where somebody can wait for a descriptor. After its Close whoever waits is told so.
type place struct {
	syscall.RawConn
	outside bool // of Go's netpoller
	io.Closer
	setDeadline [2]func(time.Time) error // of reads and of writes
}

// A polledSocket is a socket that is not in Go's netpoller. It owns the descriptor.
type polledSocket struct {
	fd    int
	users atomic.Int64 // of fd; less than 0: Close was called, and the last of them closes it
	in    bell
	out   bell
}

// closing is what a Close adds to the users of a descriptor.
const closing = -1 << 40

// newInside returns a place in Go's netpoller.
func newInside(fd int) (*place, error) {
	f := os.NewFile(uintptr(fd), "socket")
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &place{RawConn: raw, Closer: f, setDeadline: [2]func(time.Time) error{f.SetReadDeadline, f.SetWriteDeadline}}, nil
}

// newOutside returns a place outside of Go's netpoller. The descriptor is closed if that fails.
func newOutside(fd int) (*place, error) {
	p := &polledSocket{fd: fd}
	if err := errors.Join(p.in.open(fd, unix.EPOLLIN), p.out.open(fd, unix.EPOLLOUT)); err != nil {
		return nil, errors.Join(err, p.in.close(), p.out.close(), unix.Close(fd))
	}
	return &place{RawConn: p, outside: true, Closer: p, setDeadline: [2]func(time.Time) error{p.in.setDeadline, p.out.setDeadline}}, nil
}

// Control implements syscall.RawConn.
func (p *polledSocket) Control(f func(fd uintptr)) error {
	if !p.enter() {
		return net.ErrClosed
	}
	defer p.leave()
	f(uintptr(p.fd))
	return nil
}

// Read implements syscall.RawConn.
func (p *polledSocket) Read(f func(fd uintptr) bool) error { return p.until(&p.in, f) }

// Write implements syscall.RawConn.
func (p *polledSocket) Write(f func(fd uintptr) bool) error { return p.until(&p.out, f) }

// until calls move until that is done, and sleeps in between until the bell rings.
func (p *polledSocket) until(b *bell, move func(fd uintptr) bool) error {
	for {
		if b.late() {
			return os.ErrDeadlineExceeded
		}
		if !p.enter() {
			return net.ErrClosed
		}
		done := move(uintptr(p.fd))
		p.leave()
		if done {
			return nil
		}
		if err := b.sleep(); err != nil {
			if p.users.Load() < 0 {
				return net.ErrClosed
			}
			return err
		}
	}
}

// enter counts a user of the descriptor, which nobody closes before its leave. It is false if the socket is closed.
func (p *polledSocket) enter() bool {
	for {
		n := p.users.Load()
		if n < 0 {
			return false
		}
		if p.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (p *polledSocket) leave() {
	if p.users.Add(-1) == closing {
		_ = unix.Close(p.fd) // of a socket it says nothing
	}
}

// Close wakes who sleeps. It is called once.
func (p *polledSocket) Close() error {
	if !p.enter() {
		return net.ErrClosed
	}
	p.users.Add(closing)
	err := errors.Join(p.in.close(), p.out.close())
	p.leave()
	return err
}

// A bell wakes the goroutine that sleeps until a socket is ready: an epoll(7) that contains this socket alone, and is itself in Go's netpoller. It is off (EPOLLONESHOT)
// but while somebody sleeps.
type bell struct {
	socket   int
	event    uint32
	deadline atomic.Int64 // in nanoseconds since begun; 0: none

	epoll *os.File
	raw   syscall.RawConn
	look  func(fd uintptr) bool

	// Of the goroutine that sleeps.
	on     bool // it may ring, or has rung
	asked  bool // by the present sleep
	failed error
}

// begun is some instant: times since it know no step of the wall clock.
var begun = time.Now()

// open makes the bell. Until it has been heard once it rings when the other end goes away, which epoll(7) reports unasked.
func (b *bell) open(socket int, event uint32) error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := errors.Join(
		os.NewSyscallError("fcntl", unix.SetNonblock(fd, true)), // only then Go takes it into its netpoller
		os.NewSyscallError("epoll_ctl", unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, socket, &unix.EpollEvent{Events: unix.EPOLLONESHOT})),
	); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	b.socket, b.event, b.look, b.on = socket, event, b.rung, true
	b.epoll = os.NewFile(uintptr(fd), "epoll")
	b.raw, err = b.epoll.SyscallConn()
	return errors.Join(err, b.epoll.SetDeadline(time.Time{})) // an error: Go could not take it
}

func (b *bell) close() error {
	if b.epoll == nil {
		return nil
	}
	return b.epoll.Close()
}

// setDeadline wakes who sleeps longer.
func (b *bell) setDeadline(t time.Time) error {
	var at int64
	if !t.IsZero() {
		at = max(1, int64(t.Sub(begun)))
	}
	b.deadline.Store(at)
	return b.epoll.SetReadDeadline(t)
}

// late reports whether the deadline is over.
func (b *bell) late() bool {
	d := b.deadline.Load()
	return d != 0 && int64(time.Since(begun)) >= d
}

// sleep returns when the socket is ready, or its other end is gone. Else the error says why.
func (b *bell) sleep() error {
	b.asked, b.failed = false, nil
	if err := b.raw.Read(b.look); err != nil {
		return err
	}
	return b.failed
}

// rung is called by Go, which waits for the epoll where it is false.
func (b *bell) rung(fd uintptr) bool {
	if b.asked {
		return b.hear(fd)
	}
	if b.on {
		b.hear(fd) // one that has rung, and of which nobody knows, would not ring again
	}
	// Not before Go listens, which would miss a bell that rings at once.
	b.asked, b.on = true, true
	b.failed = os.NewSyscallError("epoll_ctl", unix.EpollCtl(int(fd), unix.EPOLL_CTL_MOD, b.socket, &unix.EpollEvent{Events: b.event | unix.EPOLLONESHOT}))
	return b.failed != nil
}

// hear reports whether the bell has rung, which puts it off, or cannot ring.
func (b *bell) hear(fd uintptr) bool {
	var events [1]unix.EpollEvent
	for {
		n, err := unix.EpollWait(int(fd), events[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		b.failed = os.NewSyscallError("epoll_wait", err)
		b.on = n == 0
		return n != 0
	}
}
