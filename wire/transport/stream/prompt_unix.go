//go:build unix

package stream

import (
	"errors"
	"io"
	"syscall"
)

// A promptSocket reads and writes a socket without waiting: Go keeps sockets in non-blocking mode, but its own Read and
// Write wait. One goroutine at a time reads, and one writes.
type promptSocket struct {
	raw syscall.RawConn
	// The functions that raw calls, and their arguments: made once, so that a call allocates nothing.
	read, write func(fd uintptr) bool
	in, out     transfer
}

// A transfer is the argument and the result of one call.
type transfer struct {
	b   []byte
	n   int
	err error
}

// withoutWaiting returns c as a nonblocking stream, or nil if it cannot be one.
func withoutWaiting(c Stream) nonblocking {
	if p, ok := c.(nonblocking); ok {
		return p
	}
	socket, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	p := &promptSocket{raw: raw}
	p.read = func(fd uintptr) bool {
		p.in.move(syscall.Read, int(fd))
		return true // never wait, whatever the result
	}
	p.write = func(fd uintptr) bool {
		p.out.move(syscall.Write, int(fd))
		return true
	}
	return p
}

func (p *promptSocket) TryRead(b []byte) (int, error) {
	p.in.b = b
	err := p.raw.Read(p.read)
	n, failed := p.in.done()
	if err == nil && failed == nil && n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), errors.Join(err, failed)
}

func (p *promptSocket) TryWrite(b []byte) (int, error) {
	p.out.b = b
	err := p.raw.Write(p.write)
	n, failed := p.out.done()
	return max(n, 0), errors.Join(err, failed)
}

// move makes one call. If it would have to wait, n is negative.
func (t *transfer) move(call func(fd int, b []byte) (int, error), fd int) {
	for {
		t.n, t.err = call(fd, t.b)
		switch {
		case errors.Is(t.err, syscall.EINTR):
			continue
		case errors.Is(t.err, syscall.EAGAIN):
			t.n, t.err = -1, nil
		}
		return
	}
}

// done returns the result, and lets go of the bytes.
func (t *transfer) done() (int, error) {
	n, err := t.n, t.err
	*t = transfer{}
	return n, err
}
