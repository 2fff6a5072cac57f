package stream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"metasim/wire"
)

// Much in one write travels apart between two of us: the writer puts it into a file in memory, seals that, and sends its descriptor beside one byte, which the reader
// takes off the stream. What is in the file is next in the stream. So a server that passes a payload on sends the descriptor that it has received, and nobody copies
// the payload but its first sender.
//
// Both sides must know of it. The client sends the descriptor of an empty file with its first byte, and the server answers with one if that came. A peer that does not know
// of descriptors reads its bytes as ever: the system drops what it does not ask for.
//
// A read ends where a descriptor comes: unix(7) promises that a read takes no byte behind the one with which a descriptor was sent. As that is a write of its own, its byte is
// the last of the read.

// leastApart is the size from which on a write travels apart. Below it a file costs more than it saves.
const leastApart = 1 << 20

// An apartSocket is a unix socket on which much travels apart. The collector closes a file that a closed one has not read.
type apartSocket struct {
	*net.UnixConn
	plain  promptSocket
	raw    syscall.RawConn
	peer   string
	kept   *keptFiles
	accept bool // this side has accepted: it answers

	// Of the reader.
	begun bool      // something has come
	deaf  bool      // no descriptor comes: the peer has not begun with one
	file  *partFile // what is next in the stream; nil: the socket is
	into  []byte    // of a receive
	got   received  //

	knows atomic.Bool // the peer has said that it takes descriptors

	// Of the writer.
	greeted bool // something was written
}

// A received is what one receive of a socket brought.
type received struct {
	n, rights, flags int
	err              error
	oob              [64]byte
}

// apart returns a stream that sends much apart, where the peer does so too. Where this system cannot, it is the socket.
func apart(c net.Conn, peer string, kept *keptFiles, accepted bool) Stream {
	socket, ok := c.(*net.UnixConn)
	if !ok || greetingFile() == nil {
		return c
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return c
	}
	return &apartSocket{UnixConn: socket, raw: raw, peer: peer, kept: kept, accept: accepted,
		plain: promptSocket{in: newTransfer(raw.Read, syscall.Read), out: newTransfer(raw.Write, syscall.Write)}}
}

// Read returns no byte and no error where only a descriptor has come.
func (s *apartSocket) Read(b []byte) (int, error) {
	switch {
	case s.file != nil:
		return s.readFile(b)
	case s.deaf:
		return s.UnixConn.Read(b)
	}
	n, err := s.receive(b, true)
	if n == 0 && err == nil && s.file == nil && len(b) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// TryRead implements nonblocking.
func (s *apartSocket) TryRead(b []byte) (int, error) {
	if s.deaf {
		return s.plain.TryRead(b)
	}
	if s.file == nil {
		n, err := s.receive(b, false)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case n > 0 || err != nil:
			return n, err
		case s.file == nil && len(b) > 0:
			return 0, io.EOF
		}
	}
	return s.readFile(b)
}

// receive reads from the socket, and takes the descriptor that came with the last byte. No byte and no error is the end, unless there is a file then.
func (s *apartSocket) receive(b []byte, wait bool) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.into, s.got = b, received{}
	failed := s.raw.Read(func(fd uintptr) bool {
		g := &s.got
		for {
			if g.n, g.rights, g.flags, _, g.err = unix.Recvmsg(int(fd), s.into, g.oob[:], unix.MSG_CMSG_CLOEXEC); !errors.Is(g.err, unix.EINTR) {
				return !wait || !errors.Is(g.err, unix.EAGAIN)
			}
		}
	})
	s.into = nil
	if err := errors.Join(failed, s.got.err); err != nil {
		return 0, err
	}
	if s.got.n == 0 {
		return 0, nil
	}
	if s.got.rights == 0 && s.got.flags&unix.MSG_CTRUNC == 0 {
		s.deaf = s.deaf || !s.begun
		s.begun = true
		return s.got.n, nil
	}
	return s.take(s.got.n)
}

// take takes the descriptor that came with the last of n bytes.
func (s *apartSocket) take(n int) (int, error) {
	fds, err := descriptors(s.got.oob[:s.got.rights])
	greets := !s.begun
	s.begun = true
	if err == nil && (len(fds) != 1 || s.got.flags&unix.MSG_CTRUNC != 0) {
		err = s.refuse(fmt.Sprintf("%d descriptors at once", max(len(fds), 2)), "one comes at a time")
	}
	if err == nil && greets {
		s.knows.Store(true)
		return n, unix.Close(fds[0])
	}
	if err == nil {
		s.file, err = openPart(fds[0])
		if wrong := new(wrongFile); errors.As(err, &wrong) {
			err = s.refuse(wrong.what, wrong.bound)
		}
	}
	if err != nil {
		for _, fd := range fds {
			err = errors.Join(err, unix.Close(fd))
		}
		return 0, err
	}
	return n - 1, nil
}

func (s *apartSocket) refuse(what, bound string) error {
	return &wire.ProtocolError{Peer: s.peer, What: what, Bound: bound, Remedy: "send no descriptors, or as docs/protocol.md says"}
}

// descriptors returns the descriptors of a control message.
func descriptors(control []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	for i := range messages {
		more, wrong := unix.ParseUnixRights(&messages[i])
		fds, err = append(fds, more...), errors.Join(err, wrong)
	}
	return fds, err
}

// readFile reads what has come apart.
func (s *apartSocket) readFile(b []byte) (int, error) {
	n, err := s.file.read(b)
	if err == nil && s.file.left() == 0 {
		err = s.file.close()
		s.file = nil
	}
	return n, err
}

// Apart returns the size of what is next and comes apart, for a wire.Reader.
func (s *apartSocket) Apart() int {
	if s.file == nil || s.file.at > 0 {
		return 0
	}
	return s.file.size
}

// TakeApart returns that behind a copy of head, likewise.
func (s *apartSocket) TakeApart(head []byte, room int) ([]byte, error) {
	f := s.file
	s.file = nil
	return s.kept.behind(head, f, room)
}

// Copy returns a copy of what is to be sent, of which the part that a wire.Writer writes by itself is in a sealed file: so that is the only copy. Nil: it would not travel apart.
func (s *apartSocket) Copy(parts [][]byte) []byte {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	from := wire.Lent(size)
	if size-from < leastApart || size > wire.MaxPayload || !s.knows.Load() {
		return nil
	}
	return s.kept.copyOf(parts, from)
}

// Write waits until the socket has taken all of it.
func (s *apartSocket) Write(b []byte) (int, error) {
	n, err := s.greet(b, true)
	if n == len(b) || err != nil {
		return n, err
	}
	if len(b) >= leastApart && s.knows.Load() {
		if sent, err := s.sendApart(b); sent || err != nil {
			return len(b), err
		}
	}
	m, err := s.UnixConn.Write(b[n:])
	return n + m, err
}

// TryWrite implements nonblocking. What would travel apart and is in no file yet is left to a Write: it takes time to copy it.
func (s *apartSocket) TryWrite(b []byte) (int, error) {
	n, err := s.greet(b, false)
	if n > 0 || err != nil {
		return n, err
	}
	if len(b) < leastApart || !s.knows.Load() {
		return s.plain.TryWrite(b)
	}
	fd, known := s.kept.find(b)
	if !known {
		return 0, nil
	}
	_, err = s.sendWith(mark[:], fd, false)
	runtime.KeepAlive(b) // with it the descriptor
	switch {
	case err == nil:
		return len(b), nil
	case errors.Is(err, syscall.EAGAIN), noMore(err):
		return 0, nil
	default:
		return 0, err
	}
}

// mark is the byte beside which a descriptor travels.
var mark [1]byte

// greet writes the first bytes, with the descriptor that says that this side takes descriptors. It returns how many it has written: none where there is nothing to greet with.
func (s *apartSocket) greet(b []byte, wait bool) (int, error) {
	if s.greeted || len(b) == 0 {
		return 0, nil
	}
	if s.accept && !s.knows.Load() {
		s.greeted = true
		return 0, nil
	}
	n, err := s.sendWith(b, int(greetingFile().Fd()), wait)
	switch {
	case err == nil:
		s.greeted = true
		return n, nil
	case errors.Is(err, syscall.EAGAIN):
		return 0, nil
	case noMore(err):
		s.greeted = true // the peer sends nothing apart then
		return 0, nil
	}
	return 0, err
}

// sendApart sends bytes in a file. It reports false where this system does not let it: then they go as all others.
func (s *apartSocket) sendApart(b []byte) (sent bool, err error) {
	fd, known := s.kept.find(b)
	if !known {
		made, failed := makePart(b)
		if failed != nil {
			return false, nil
		}
		defer func() { err = errors.Join(err, made.Close()) }()
		fd = int(made.Fd())
	}
	_, err = s.sendWith(mark[:], fd, true)
	runtime.KeepAlive(b) // with it the descriptor
	if noMore(err) {
		return false, nil
	}
	return true, err
}

// noMore reports whether the system refuses to send a descriptor: too many are on their way, or it is not allowed.
func noMore(err error) bool { return errors.Is(err, unix.ETOOMANYREFS) || errors.Is(err, unix.EPERM) }

// sendWith sends bytes, the first of them with a descriptor, and returns how many were sent.
func (s *apartSocket) sendWith(b []byte, fd int, wait bool) (n int, err error) {
	rights := unix.UnixRights(fd)
	failed := s.raw.Write(func(socket uintptr) bool {
		for {
			if n, err = unix.SendmsgN(int(socket), b, rights, nil, unix.MSG_NOSIGNAL); !errors.Is(err, unix.EINTR) {
				return !wait || !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	if failed != nil {
		return 0, failed
	}
	return max(n, 0), os.NewSyscallError("sendmsg", err)
}
