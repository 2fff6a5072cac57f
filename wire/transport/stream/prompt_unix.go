//go:build unix

package stream

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// A socket is used without ever waiting for it: the runtime keeps sockets in non-blocking mode, but its own Read and
// Write wait where the system would not. Reading and writing are each done by one goroutine at a time.
type promptSocket struct {
	raw syscall.RawConn
	// The functions that raw calls, and what they are to move: made once, so that a call costs no memory.
	read, write func(fd uintptr) bool
	in, out     transfer
}

// A transfer is what one call is to move, and how it went.
type transfer struct {
	b   []byte
	n   int
	err error
}

// promptly returns how to use a connection without waiting; nil where there is no way.
func promptly(c net.Conn) nonblocking {
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
		return true // whatever came of it: nobody waits
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

// move makes one call. Where the system would have it wait n is negative.
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

// done returns how it went, and forgets the bytes.
func (t *transfer) done() (int, error) {
	n, err := t.n, t.err
	*t = transfer{}
	return n, err
}
