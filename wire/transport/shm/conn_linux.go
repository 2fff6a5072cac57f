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
	socket   *net.UnixConn // carries nothing after the greeting; its end tells that the peer closed or died
	peer     string
	spins    int
	maxSleep time.Duration // the constant; tests of wake-ups make it an hour

	reading  sync.Mutex // held by a Read
	in       source
	writing  sync.Mutex // held by a Write
	out      sink
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

func newConn(socket *net.UnixConn, m memory, size uint32, r role) *conn {
	c := &conn{socket: socket, memory: m, peer: fmt.Sprintf("shm pid %d", stream.PeerPID(socket)), spins: defaultSpins(), maxSleep: maxSleep,
		watched: make(chan struct{})}
	in, out := rings(m, size, c.peer)
	if r == client {
		in, out = out, in
	}
	c.in.ring, c.out.ring = in, out
	go c.watch()
	return c
}

// watch waits for the end of the socket, which comes when the peer closes or dies. A peer that sends something there breaks
// the protocol, and is treated as if it had closed.
func (c *conn) watch() {
	defer close(c.watched)
	var b [1]byte
	_, _ = c.socket.Read(b[:]) // any result means the end
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

// Read waits for bytes and returns those that are there. What the peer wrote before it closed or died comes before io.EOF.
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
		gone := c.gone.Load() // before the look at the ring: when it is set, nothing more comes than that look finds
		if n, err := c.in.take(b); n > 0 || err != nil {
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
	for done := 0; ; {
		until, err := c.over()
		if err == nil && c.gone.Load() {
			err = syscall.EPIPE
		}
		if err != nil {
			return done, err
		}
		n, err := c.out.put(b[done:])
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
	n, err := c.in.take(b)
	if n == 0 && err == nil && gone {
		return 0, io.EOF
	}
	return n, err
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
