package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Go's netpoller has the system wake a thread for each message, also while a goroutine polls the socket and finds the message itself. Nobody needs that thread; but the sender
// pays for its waking, and it takes a processor from one of the two who poll. So a socket leaves the netpoller while it pays to poll it, and comes back to sleep: what wakes
// sleepers in its place costs more for each sleep.

// A socket is a net.Conn that can leave Go's netpoller: it copies its descriptor, and closes the one that the netpoller knows.
type socket struct {
	calls
	conn  net.Conn // for its addresses
	plain promptSocket

	at        atomic.Pointer[place] // where it is
	moving    sync.Mutex            // held by a move, and by what a move has to repeat
	deadlines [2]time.Time          // of reads and of writes
	closed    bool
}

// mostOutside is how many sockets of a process leave the netpoller: each costs two more descriptors, and where many read, nobody polls.
const mostOutside = 8

// outside is how many of this process have left it.
var outside atomic.Int32

// movable returns a connection that can leave Go's netpoller, if it is a socket.
func movable(c net.Conn) net.Conn {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return c
	}
	s := &socket{conn: c}
	s.plain = promptSocket{in: newTransfer(s.read, s.readFrom), out: newTransfer(s.write, s.writeTo)}
	s.at.Store(&place{RawConn: raw, Closer: c, setDeadline: [2]func(time.Time) error{c.SetReadDeadline, c.SetWriteDeadline}})
	return s
}

// settle implements settler. The socket stays where it is if the system refuses.
func (s *socket) settle(polled bool) {
	if s.at.Load().outside == polled {
		return
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	from := s.at.Load()
	if s.closed || from.outside == polled {
		return
	}
	if polled {
		if outside.Add(1) > mostOutside {
			outside.Add(-1)
			return
		}
	}
	to, err := s.move(from, polled)
	if polled == (err != nil) {
		outside.Add(-1)
	}
	if err != nil {
		return
	}
	s.at.Store(to)
	_ = from.Close() // whoever waits there goes on at the new place
}

// move makes another place for the socket. The caller has moving.
func (s *socket) move(from *place, polled bool) (to *place, err error) {
	var fd int
	var failed error
	err = from.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, os.NewSyscallError("fcntl", failed)); err != nil {
		return nil, err
	}
	if polled {
		to, err = newOutside(fd)
	} else {
		to, err = newInside(fd)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(to.setDeadline[0](s.deadlines[0]), to.setDeadline[1](s.deadlines[1])); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

// read calls move until that is done, and sleeps in between until there is something to read.
func (s *socket) read(move func(fd uintptr) bool) error {
	for {
		at := s.at.Load()
		if err := at.Read(move); err == nil || !s.moved(at) {
			return s.meant(err)
		}
	}
}

// write calls move until that is done, and sleeps in between until something can be written.
func (s *socket) write(move func(fd uintptr) bool) error {
	for {
		at := s.at.Load()
		if err := at.Write(move); err == nil || !s.moved(at) {
			return s.meant(err)
		}
	}
}

// moved reports whether the socket is somewhere else.
func (s *socket) moved(from *place) bool { return s.at.Load() != from }

// meant returns net.ErrClosed for what a closed descriptor says at its place.
func (s *socket) meant(err error) error {
	if err == nil {
		return nil
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	return err
}

// Read implements net.Conn.
func (s *socket) Read(b []byte) (n int, err error) {
	failed := s.read(func(fd uintptr) bool {
		for {
			if n, err = s.readFrom(int(fd), b); !errors.Is(err, syscall.EINTR) {
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
	switch {
	case failed != nil:
		return 0, s.failed("read", failed)
	case err != nil:
		return 0, s.failed("read", os.NewSyscallError("read", err))
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn.
func (s *socket) Write(b []byte) (done int, err error) {
	failed := s.write(func(fd uintptr) bool {
		for done < len(b) {
			var n int
			n, err = s.writeTo(int(fd), b[done:])
			switch done += max(n, 0); {
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil && !errors.Is(err, syscall.EINTR):
				return true
			}
		}
		err = nil
		return true
	})
	switch {
	case failed != nil:
		return done, s.failed("write", failed)
	case err != nil:
		return done, s.failed("write", os.NewSyscallError("write", err))
	}
	return done, nil
}

// failed says of what connection an error is.
func (s *socket) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: s.LocalAddr().Network(), Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
}

// TryRead implements nonblocking.
func (s *socket) TryRead(b []byte) (int, error) { return s.plain.TryRead(b) }

// TryWrite implements nonblocking.
func (s *socket) TryWrite(b []byte) (int, error) { return s.plain.TryWrite(b) }

// CloseWrite says to the peer that nothing comes any more.
func (s *socket) CloseWrite() (err error) {
	closed := s.control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_WR) })
	return errors.Join(closed, os.NewSyscallError("shutdown", err))
}

// control calls f with the descriptor, which stays open meanwhile.
func (s *socket) control(f func(fd uintptr)) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	return s.at.Load().Control(f)
}

// Close wakes who sleeps.
func (s *socket) Close() error {
	s.moving.Lock()
	defer s.moving.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	at := s.at.Load()
	if at.outside {
		outside.Add(-1)
	}
	return at.Close()
}

// LocalAddr implements net.Conn.
func (s *socket) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// RemoteAddr implements net.Conn.
func (s *socket) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// SetReadDeadline implements net.Conn.
func (s *socket) SetReadDeadline(t time.Time) error { return s.setDeadline(0, t) }

// SetWriteDeadline implements net.Conn.
func (s *socket) SetWriteDeadline(t time.Time) error { return s.setDeadline(1, t) }

func (s *socket) setDeadline(i int, t time.Time) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.deadlines[i] = t
	return s.at.Load().setDeadline[i](t)
}

// SetDeadline implements net.Conn.
func (s *socket) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SyscallConn implements syscall.Conn.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return rawSocket{s}, nil }

// A rawSocket is a socket as a syscall.RawConn.
type rawSocket struct{ s *socket }

// Control implements syscall.RawConn.
func (r rawSocket) Control(f func(fd uintptr)) error { return r.s.control(f) }

// Read implements syscall.RawConn.
func (r rawSocket) Read(f func(fd uintptr) bool) error { return r.s.read(f) }

// Write implements syscall.RawConn.
func (r rawSocket) Write(f func(fd uintptr) bool) error { return r.s.write(f) }
