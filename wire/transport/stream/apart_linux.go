package stream

import (
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
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

// An apartSocket is a unix socket on which much travels apart. The collector closes a file that a closed one has not read.
type apartSocket struct {
	*socket
	parts  Parts
	accept bool // this side has accepted: it answers

	// Of the reader.
	begun bool     // something has come
	deaf  bool     // no descriptor comes: the peer has not begun with one
	into  []byte   // of a receive
	got   received //

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
func apart(c net.Conn, peer string, kept *KeptFiles, accepted bool) Stream {
	s, ok := c.(*socket)
	if !ok {
		return c
	}
	if s.mayHide = !accepted && runtime.GOMAXPROCS(0) > 1; greetingFile() == nil {
		return c
	}
	return &apartSocket{socket: s, parts: Parts{Peer: peer, Kept: kept}, accept: accepted}
}

// Read returns no byte and no error where only a descriptor has come.
func (s *apartSocket) Read(b []byte) (int, error) {
	switch {
	case s.parts.Next():
		return s.parts.Read(b)
	case s.deaf:
		return s.socket.Read(b)
	}
	n, err := s.receive(b, true)
	if n == 0 && err == nil && !s.parts.Next() && len(b) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// TryRead implements nonblocking.
func (s *apartSocket) TryRead(b []byte) (int, error) {
	if s.deaf {
		return s.plain.TryRead(b)
	}
	if !s.parts.Next() {
		n, err := s.receive(b, false)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case n > 0 || err != nil:
			return n, err
		case !s.parts.Next() && len(b) > 0:
			return 0, io.EOF
		}
	}
	return s.parts.Read(b)
}

// receive reads from the socket, and takes the descriptor that came with the last byte. No byte and no error is the end, unless there is a file then.
func (s *apartSocket) receive(b []byte, wait bool) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.into, s.got = b, received{}
	failed := s.read(func(fd uintptr) bool {
		g := &s.got
		for {
			if g.n, g.rights, g.flags, g.err = s.receiveFrom(int(fd), s.into, g.oob[:]); !errors.Is(g.err, unix.EINTR) {
				return !wait || !errors.Is(g.err, unix.EAGAIN)
			}
		}
	})
	s.into = nil
	if err := cmp.Or(failed, s.got.err); err != nil {
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
	files, err := FilesIn(s.got.oob[:s.got.rights])
	more := s.got.flags&unix.MSG_CTRUNC != 0
	greets := !s.begun
	s.begun = true
	switch {
	case err == nil && greets && len(files) == 1 && !more:
		s.parts.Knows.Store(true)
		return n, files[0].Close()
	case err == nil && greets && len(files) == 0: // this process has no room for it: then nothing is sent apart
		return n, nil
	}
	if err := errors.Join(err, s.parts.Take(files, more || err != nil)); err != nil {
		return 0, err
	}
	return n - 1, nil
}

// Apart is for a wire.Reader.
func (s *apartSocket) Apart() int { return s.parts.Apart() }

// TakeApart is for a wire.Reader.
func (s *apartSocket) TakeApart(head []byte, room int) ([]byte, error) {
	return s.parts.TakeApart(head, room)
}

// Copy is for a wire.Copier.
func (s *apartSocket) Copy(parts [][]byte) []byte { return s.parts.Copy(parts) }

// Write waits until the socket has taken all of it.
func (s *apartSocket) Write(b []byte) (int, error) {
	n, err := s.greet(b, true)
	if n == len(b) || err != nil {
		return n, err
	}
	if s.parts.Fits(len(b)) {
		if sent, err := s.sendApart(b, true); sent || err != nil {
			return len(b), err
		}
	}
	m, err := s.socket.Write(b[n:])
	return n + m, err
}

// TryWrite implements nonblocking. What would travel apart and is in no file yet is left to a Write: it takes time to copy it.
func (s *apartSocket) TryWrite(b []byte) (int, error) {
	n, err := s.greet(b, false)
	if n > 0 || err != nil {
		return n, err
	}
	if !s.parts.Fits(len(b)) {
		return s.plain.TryWrite(b)
	}
	if sent, err := s.sendApart(b, false); !sent || err != nil {
		return 0, err
	}
	return len(b), nil
}

// mark is the byte beside which a descriptor travels.
var mark [1]byte

// greet writes the first bytes, with the descriptor that says that this side takes descriptors. It returns how many it has written: none where there is nothing to greet with.
func (s *apartSocket) greet(b []byte, wait bool) (int, error) {
	if s.greeted || len(b) == 0 {
		return 0, nil
	}
	if s.accept && !s.parts.Knows.Load() {
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

// sendApart sends bytes in a file, if this system lets it.
func (s *apartSocket) sendApart(b []byte, wait bool) (sent bool, err error) {
	return s.parts.Send(b, wait, func(fd int) error {
		_, err := s.sendWith(mark[:], fd, wait)
		return err
	})
}

// sendWith sends bytes, the first of them with a descriptor, and returns how many were sent.
func (s *apartSocket) sendWith(b []byte, fd int, wait bool) (n int, err error) {
	rights := unix.UnixRights(fd)
	failed := s.write(func(socket uintptr) bool {
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
