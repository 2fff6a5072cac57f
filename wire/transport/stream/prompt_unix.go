//go:build unix

package stream

import (
	"errors"
	"io"
	"syscall"
)

// A promptSocket reads and writes a socket without waiting: Go keeps sockets in non-blocking mode, but its own Read and
// Write wait. One goroutine at a time reads, and one writes.
type promptSocket struct{ in, out *transfer }

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
	return promptSocket{in: newTransfer(raw.Read, syscall.Read), out: newTransfer(raw.Write, syscall.Write)}
}

func (p promptSocket) TryRead(b []byte) (int, error) {
	n, err := p.in.do(b)
	if err == nil && n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func (p promptSocket) TryWrite(b []byte) (int, error) {
	n, err := p.out.do(b)
	return max(n, 0), err
}

// A transfer is one direction of a socket: what a call takes and returns. What raw calls is made once, so that a call
// allocates nothing.
type transfer struct {
	raw  func(move func(fd uintptr) bool) error
	move func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

func newTransfer(raw func(func(fd uintptr) bool) error, call func(fd int, b []byte) (int, error)) *transfer {
	t := &transfer{raw: raw}
	t.move = func(fd uintptr) bool {
		for {
			t.n, t.err = call(int(fd), t.b)
			if !errors.Is(t.err, syscall.EINTR) {
				return true // never wait, whatever the result
			}
		}
	}
	return t
}

// do makes one call. If it would have to wait, the result is negative.
func (t *transfer) do(b []byte) (int, error) {
	t.b = b
	failed := t.raw(t.move)
	n, err := t.n, t.err
	t.b, t.n, t.err = nil, 0, nil // lets go of the bytes
	if errors.Is(err, syscall.EAGAIN) {
		return -1, failed
	}
	return n, errors.Join(failed, err)
}
