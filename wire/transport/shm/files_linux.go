package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"metasim/wire"
	"metasim/wire/transport/stream"
)

// mostFiles is how many files a writer is ahead of its reader. Each may have 64 MiB.
const mostFiles = 16

// files are what a connection sends and receives in files. One goroutine at a time reads, and one writes; a third receives.
type files struct {
	socket *net.UnixConn
	peer   string
	in     source
	out    sink
	parts  stream.Parts
	mail   mail
}

// A mail is what has come over the socket, and whose place in the stream was not reached yet.
type mail struct {
	mu    sync.Mutex
	queue []letter
}

// A letter is what came in one message of the socket.
type letter struct {
	at    uint32     // where in the stream its file is
	files []*os.File // one, if the peer is one of ours
	more  bool       // there were more than fit
}

// add puts a letter behind the others. It reports false if there are too many.
func (m *mail) add(l letter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) >= mostFiles {
		return false
	}
	m.queue = append(m.queue, l)
	return true
}

// first returns the first letter, if there is one.
func (m *mail) first() (l letter, here bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return letter{}, false
	}
	return m.queue[0], true
}

// drop takes the first letter away. Its files are the caller's.
func (m *mail) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue[0] = letter{}
	m.queue = m.queue[1:]
}

func (l *letter) close() (err error) {
	for _, one := range l.files {
		err = errors.Join(err, one.Close())
	}
	return err
}

// receiveFile waits for the next file. Its error is the end of the socket, or a peer that sends something else there.
func (f *files) receiveFile() error {
	var said [5]byte
	var rights [64]byte
	n, oob, flags, _, err := f.socket.ReadMsgUnix(said[:], rights[:])
	if err != nil {
		return err
	}
	all, err := stream.FilesIn(rights[:oob])
	l := letter{at: binary.LittleEndian.Uint32(said[:]), files: all, more: flags&unix.MSG_CTRUNC != 0}
	if err == nil && n == 4 && (len(all) > 0 || l.more) && f.mail.add(l) {
		return nil
	}
	return errors.Join(errors.New("the peer sends what is no file"), err, l.close())
}

// take reads without waiting, up to the next file. It returns nothing if that is next, or nothing has come.
func (f *files) take(b []byte) (int, error) {
	tail := f.in.tail.Load() // before the number of files: so each of them that is before these bytes is known
	coming := f.in.files.Load() - f.in.had
	if coming == 0 {
		return f.in.takeUntil(b, tail)
	}
	if coming > mostFiles {
		return 0, f.refuse(fmt.Sprintf("%d files that were not opened", coming), fmt.Sprintf("a peer is %d ahead", mostFiles))
	}
	l, here := f.mail.first()
	if !here {
		return 0, nil // the watch brings it, and wakes this side
	}
	before := l.at - f.in.next
	if before > f.in.size() {
		return 0, f.refuse(fmt.Sprintf("a file %d bytes ahead", before), fmt.Sprintf("the ring holds %d", f.in.size()))
	}
	if before > 0 {
		if tail-f.in.next > before {
			tail = l.at
		}
		return f.in.takeUntil(b, tail)
	}
	f.mail.drop()
	if err := f.parts.Take(l.files, l.more); err != nil {
		return 0, err
	}
	f.in.had++
	f.in.opened.Swap(f.in.had)
	rouse(f.in.writer)
	return 0, nil
}

func (f *files) refuse(what, bound string) error {
	return &wire.ProtocolError{Peer: f.peer, What: what, Bound: bound, Remedy: "let nobody else write to the memory"}
}

// putFile sends bytes as a file. It returns 0 and no error if it has to wait, or cannot: then it is not possible, and they go as all others.
func (f *files) putFile(b []byte, wait bool) (n int, possible bool, err error) {
	ahead := f.out.sent - f.out.opened.Load()
	if ahead > mostFiles {
		return 0, false, f.refuse(fmt.Sprintf("%d files opened that were not sent", -ahead), "a peer opens what has come")
	}
	if ahead == mostFiles {
		return 0, true, nil
	}
	sent, err := f.parts.Send(b, wait, f.sendFile)
	if !sent || err != nil {
		return 0, false, err
	}
	f.claim()
	return len(b), true, nil
}

// claim says that a file was sent. The reader may have seen it come, and have gone to sleep again.
func (f *files) claim() {
	f.out.sent++
	f.out.files.Swap(f.out.sent)
	rouse(f.out.reader)
}

// sendFile sends a descriptor with the place of its file in the stream, without waiting.
func (f *files) sendFile(fd int) error {
	raw, err := f.socket.SyscallConn()
	if err != nil {
		return err
	}
	said := binary.LittleEndian.AppendUint32(nil, f.out.next)
	failed := raw.Write(func(socket uintptr) bool {
		for {
			if err = unix.Sendmsg(int(socket), said, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL); !errors.Is(err, unix.EINTR) {
				return true
			}
		}
	})
	if errors.Is(err, syscall.EAGAIN) {
		return err // as it is: Parts.Send looks for it
	}
	return errors.Join(failed, os.NewSyscallError("sendmsg", err))
}

// closeFiles closes the files that nobody has read.
func (f *files) closeFiles() error {
	err := f.parts.Drop()
	for {
		l, here := f.mail.first()
		if !here {
			return err
		}
		f.mail.drop()
		err = errors.Join(err, l.close())
	}
}

// Apart is for a wire.Reader.
func (f *files) Apart() int { return f.parts.Apart() }

// TakeApart is for a wire.Reader.
func (f *files) TakeApart(head []byte, room int) ([]byte, error) {
	return f.parts.TakeApart(head, room)
}

// Copy is for a wire.Copier.
func (f *files) Copy(parts [][]byte) []byte { return f.parts.Copy(parts) }
