package shm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"metasim/wire/transport/stream"
)

// A conn is both rings as one stream.Stream, so that package stream can carry frames on it and close it. It needs no CloseWrite:
// what was written stays in the memory that the peer has mapped.
type conn struct {
	files    // their socket carries nothing else after the greeting; its end tells that the peer closed or died
	spins    int
	maxSleep time.Duration // the constant; tests of wake-ups make it an hour

	reading  sync.Mutex                // held by a Read
	writing  sync.Mutex                // held by a Write
	until    atomic.Pointer[time.Time] // of SetDeadline; nil: no deadline
	answered atomic.Bool               // there was a Write after the last Read

	gone    atomic.Bool   // the peer has closed or died
	closed  atomic.Bool   // this side has closed
	watched chan struct{} // closed when watch has ended

	kicking sync.Mutex // held while kick or Close touches the memory
	memory  memory     // nil after Close
}

// A role says which ring a side reads, and which it writes.
type role bool

const (
	client role = true
	server role = false
)

// takes is the word in which a side says that it takes files.
func (m memory) takes(r role) *atomic.Uint32 {
	if r == client {
		return m.word(atTakes)
	}
	return m.word(atTakes + takesStride)
}

func newConn(socket *net.UnixConn, m memory, size uint32, r role, kept *stream.KeptFiles) *conn {
	c := &conn{memory: m, spins: defaultSpins(), maxSleep: maxSleep, watched: make(chan struct{})}
	c.files = files{socket: socket, peer: fmt.Sprintf("shm pid %d", stream.PeerPID(socket))}
	in, out := rings(m, size, c.peer)
	if r == client {
		in, out = out, in
	}
	c.in.ring, c.out.ring = in, out
	c.parts.Peer, c.parts.Kept = c.peer, kept
	c.parts.Knows.Store(m.takes(!r).Load() == 1)
	go c.watch()
	return c
}

// watch takes the files that come over the socket, and waits for its end, which comes when the peer closes or dies. A peer that sends something else there,
// or more files than it may, breaks the protocol, and is treated as if it had closed.
func (c *conn) watch() {
	defer close(c.watched)
	for c.receiveFile() == nil {
		c.kick()
	}
	c.gone.Store(true)
	c.kick()
}

// kick wakes a Read and a Write that wait.
func (c *conn) kick() {
	c.kicking.Lock()
	defer c.kicking.Unlock()
	if c.memory == nil {
		return
	}
	for _, word := range []*atomic.Uint32{c.in.reader, c.out.writer} {
		word.Store(0)
		wake(word)
	}
}

// Read waits for bytes and returns those that are there; none where a file has come. What the peer wrote before it closed or died comes before io.EOF.
//
// To Go's scheduler a sleep on a futex is a system call, for which it reserves the processor a while. That is bad if
// another goroutine was given the bytes of the last Read and now waits for this processor. So Read yields first, unless a
// Write has come since the last Read: then the bytes were answered, and a yield would only wake a thread to look for work.
func (c *conn) Read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	w := wait{word: c.in.reader, yield: !c.answered.Load(), spins: c.spins, maxSleep: c.maxSleep}
	defer w.end()
	for {
		until, err := c.over()
		if err != nil || len(b) == 0 {
			return 0, err
		}
		if c.parts.Next() {
			return c.parts.Read(b)
		}
		gone := c.gone.Load() // before the look at the ring: when it is set, nothing more comes than that look finds
		if n, err := c.take(b); n > 0 || err != nil || c.parts.Next() {
			c.answered.Store(false)
			return n, err
		}
		if gone {
			return 0, io.EOF
		}
		if err := w.once(until); err != nil {
			return 0, os.NewSyscallError("futex", err)
		}
	}
}

// Write waits for room until all of b is in the ring.
func (c *conn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.answered.Store(true)
	w := wait{word: c.out.writer, spins: c.spins, maxSleep: c.maxSleep}
	defer w.end()
	apart := c.parts.Fits(len(b))
	for done := 0; ; {
		until, err := c.over()
		if err == nil && c.gone.Load() {
			err = syscall.EPIPE
		}
		if err != nil {
			return done, err
		}
		n := 0
		if apart {
			n, apart, err = c.putFile(b, true)
		}
		if !apart && err == nil {
			n, err = c.out.put(b[done:])
		}
		if done += n; done == len(b) || err != nil {
			return done, err
		}
		if n > 0 {
			continue
		}
		if err := w.once(until); err != nil {
			return done, os.NewSyscallError("futex", err)
		}
	}
}

// TryRead is Read without waiting: it returns 0 if nothing is there.
func (c *conn) TryRead(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	gone := c.gone.Load() // before the look at the ring, as in Read
	n := 0
	var err error
	if !c.parts.Next() {
		n, err = c.take(b)
	}
	switch {
	case n > 0 || err != nil:
		return n, err
	case c.parts.Next():
		return c.parts.Read(b)
	case gone:
		return 0, io.EOF
	}
	return 0, nil
}

// TryWrite is Write without waiting: it writes as much as there is room for.
func (c *conn) TryWrite(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	switch {
	case c.closed.Load():
		return 0, net.ErrClosed
	case c.gone.Load():
		return 0, syscall.EPIPE
	}
	c.answered.Store(true)
	if c.parts.Fits(len(b)) { // it is left to a Write where it is in no file yet
		n, _, err := c.putFile(b, false)
		return n, err
	}
	return c.out.put(b)
}

// over returns the error that ends a Read or a Write, or until when it may wait (zero: no deadline).
func (c *conn) over() (time.Time, error) {
	if c.closed.Load() {
		return time.Time{}, net.ErrClosed
	}
	until := c.until.Load()
	if until == nil {
		return time.Time{}, nil
	}
	if !time.Now().Before(*until) {
		return *until, os.ErrDeadlineExceeded
	}
	return *until, nil
}

// Close wakes a Read and a Write that wait, and closes socket and memory when they have returned.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.kick()
	c.reading.Lock()
	defer c.reading.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	err := c.socket.Close()
	<-c.watched
	err = errors.Join(err, c.closeFiles())
	c.kicking.Lock()
	defer c.kicking.Unlock()
	m := c.memory
	c.memory = nil
	return errors.Join(err, m.unmap())
}

func (c *conn) SetDeadline(t time.Time) error {
	if c.until.Store(&t); t.IsZero() {
		c.until.Store(nil)
	}
	c.kick()
	return nil
}
