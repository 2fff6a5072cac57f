package stream

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"metasim/wire"
)

// leastApart is the size from which on a write travels apart. Below it a file costs more than it saves.
const leastApart = 256 << 10

// Parts are the large parts of one stream, which travel apart in files, each way. How a descriptor gets to the peer, and where its file is in the stream, is the
// transport's. One goroutine at a time reads, and one writes.
type Parts struct {
	Peer  string      // for errors
	Kept  *KeptFiles  // a listener's connections share theirs, so that one sends on what another has received
	Knows atomic.Bool // the peer takes descriptors

	file *partFile // what is next in the stream; nil: the transport's own bytes are
}

// Take takes over what came as the descriptor of one file, which is next in the stream. More says that more have come than there was room for.
func (p *Parts) Take(files []*os.File, more bool) error {
	err := p.take(files, more)
	if err != nil {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// errNoRoom says that the system has thrown away the descriptor of a part: this process may not have another one.
var errNoRoom = errors.New("this process has no room for the descriptor of what comes apart; raise the limit of open files (ulimit -n)")

func (p *Parts) take(files []*os.File, more bool) (err error) {
	if len(files) == 0 && more {
		return errNoRoom
	}
	if len(files) != 1 || more {
		return p.refuse(fmt.Sprintf("%d descriptors at once", max(len(files), 2)), "one comes at a time")
	}
	p.file, err = openPart(files[0])
	if wrong := new(wrongFile); errors.As(err, &wrong) {
		return p.refuse(wrong.what, wrong.bound)
	}
	return err
}

func (p *Parts) refuse(what, bound string) error {
	return &wire.ProtocolError{Peer: p.Peer, What: what, Bound: bound, Remedy: "send no descriptors, or as docs/protocol.md says"}
}

// Next reports whether a file is next in the stream.
func (p *Parts) Next() bool { return p.file != nil }

// Read reads from the file that is next.
func (p *Parts) Read(b []byte) (int, error) {
	n, err := p.file.read(b)
	if err == nil && p.file.left() == 0 {
		err = p.Drop()
	}
	return n, err
}

// Drop ends the use of the file that is next, if there is one.
func (p *Parts) Drop() error {
	if p.file == nil {
		return nil
	}
	f := p.file
	p.file = nil
	return f.close()
}

// Apart returns the size of what is next and comes apart, for a wire.Reader.
func (p *Parts) Apart() int {
	if p.file == nil || p.file.at > 0 {
		return 0
	}
	return p.file.size
}

// TakeApart returns that behind a copy of head, likewise.
func (p *Parts) TakeApart(head []byte, room int) ([]byte, error) {
	f := p.file
	p.file = nil
	return p.Kept.behind(head, f, room)
}

// Copy returns a copy of what is to be sent, of which the part that a wire.Writer writes by itself is in a sealed file: so that is the only copy. Nil: it would not travel apart.
func (p *Parts) Copy(parts [][]byte) []byte {
	size := 0
	for _, b := range parts {
		size += len(b)
	}
	from := wire.Lent(size)
	if size > wire.MaxPayload || !p.Fits(size-from) {
		return nil
	}
	return p.Kept.copyOf(parts, from)
}

// Fits reports whether a write of a size travels apart.
func (p *Parts) Fits(size int) bool { return size >= leastApart && p.Knows.Load() }

// Send has send send the descriptor of a file with these bytes. It reports false where this system lets it make or send none: then they go as all others. Where it is not to
// wait, it makes no file, as that takes time to copy.
func (p *Parts) Send(b []byte, wait bool, send func(fd int) error) (sent bool, err error) {
	fd, known := p.Kept.find(b)
	if !known && !wait {
		return false, nil
	}
	if !known {
		made, failed := makePart(b)
		if failed != nil {
			return false, nil
		}
		defer func() { err = errors.Join(err, made.Close()) }()
		fd = int(made.Fd())
	}
	err = send(fd)
	runtime.KeepAlive(b) // with it the descriptor
	switch {
	case err == nil:
		return true, nil
	case noMore(err), errors.Is(err, unix.EAGAIN):
		return false, nil
	default:
		return false, err
	}
}

// noMore reports whether the system refuses to send a descriptor: too many are on their way, or it is not allowed.
func noMore(err error) bool { return errors.Is(err, unix.ETOOMANYREFS) || errors.Is(err, unix.EPERM) }

// FilesIn returns the files of a control message that came from a peer. The caller has asked for close-on-exec.
func FilesIn(control []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	for i := range messages {
		fds, wrong := unix.ParseUnixRights(&messages[i])
		err = errors.Join(err, wrong)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "file of a peer"))
		}
	}
	return files, err
}
