// Package stream carries the protocol over unix and TCP sockets, and over any other net.Conn.
//
// A unix socket is private to the user (mode 0600); the caller makes its directory private too (0700). A socket file that
// a dead server left is replaced; the socket of a living server, and a file that is no socket, are not. Close removes the
// file.
//
// # Duties of the caller
//
//  1. Always have a Read waiting: by its io.EOF this side learns that the connection is over, and tells the peer.
//  2. Close every Conn, also after an error of Read or Write.
//
// # What is promised
//
// One Write of a Conn is one write of the socket. What was written before a Close is sent, even while the peer still sends:
// the connection stays open in the background until the peer has closed too, for at most a second.
package stream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"metasim/wire"
)

// linger is how long a closed connection waits for the peer to read what was written. If a socket is closed while input is
// unread, it is reset, and the peer may lose what it has not read yet.
const linger = time.Second

// visitorLinger is linger for a visitor, who could keep many descriptors open.
const visitorLinger = 5 * time.Millisecond

// A Stream is what New needs of a net.Conn. If SetDeadline fails, Close may be called during a Read and a Write, and must
// wake them.
type Stream interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
}

// New carries packets over s, whose other side is named peer for people. Close closes s. The result is a wire.Prompt if s can
// be used without waiting.
func New(s Stream, peer string) wire.Conn {
	c := &conn{stream: s, peer: peer, reader: wire.NewReader(s, peer), writer: wire.NewWriter(s, peer)}
	if n := withoutWaiting(s); n != nil {
		p := &promptConn{conn: c, stream: n, poller: newPoller(s)}
		p.hider, _ = s.(hider)
		p.ready = func() bool { return c.closed.Load() || c.reader.Ready(tryReader{n}) }
		return p
	}
	return c
}

type conn struct {
	stream Stream
	peer   string

	reading sync.Mutex // held during a Read: Close waits for it before it drains
	reader  *wire.Reader
	writing sync.Mutex // held during a Write
	writer  *wire.Writer
	ended   bool // the peer has closed; guarded by reading

	closed atomic.Bool
}

func (c *conn) Peer() string { return c.peer }

// Guard implements wire.Guarded.
func (c *conn) Guard(admit func(token string) bool) { c.reader.Guard(admit) }

// Trust implements wire.Guarded.
func (c *conn) Trust() {
	c.reader.Trust()
	if s, ok := c.stream.(interface{ Trust() }); ok {
		s.Trust()
	}
}

// Suspect implements wire.Mortal.
func (c *conn) Suspect() {
	if s, ok := c.stream.(interface{ Suspect() }); ok {
		s.Suspect()
	}
}

// Traffic implements wire.Conn. It never holds both locks: Close takes them in the other order.
func (c *conn) Traffic() (t wire.Traffic) {
	c.reading.Lock()
	t.FramesIn, t.BytesIn = c.reader.Taken()
	c.reading.Unlock()
	c.writing.Lock()
	t.FramesOut, t.BytesOut = c.writer.Given()
	c.writing.Unlock()
	return t
}

func (c *conn) Read() ([]wire.Packet, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.closed.Load() {
		return nil, fmt.Errorf("read from %s: %w", c.peer, net.ErrClosed)
	}
	packets, err := c.reader.Read()
	switch {
	case err == nil:
		return packets, nil
	case c.closed.Load():
		return nil, fmt.Errorf("read from %s: %w", c.peer, net.ErrClosed)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		// The peer reads no more. Tell it at once that this side has ended too: its Close waits for that.
		c.ended = true
		closeWrite(c.stream)
	}
	return nil, err
}

func (c *conn) Write(packets []wire.Packet) error {
	return c.write(func() error { return c.writer.Write(packets) })
}

func (c *conn) WriteFrames(frames []byte) error {
	return c.write(func() error { return c.writer.WriteFrames(frames) })
}

// Copy implements wire.Copier.
func (c *conn) Copy(parts [][]byte) []byte {
	if s, ok := c.stream.(interface{ Copy(parts [][]byte) []byte }); ok {
		return s.Copy(parts)
	}
	return nil
}

func (c *conn) write(send func() error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.closed.Load() {
		return fmt.Errorf("write to %s: %w", c.peer, net.ErrClosed)
	}
	err := send()
	if err != nil && c.closed.Load() {
		return fmt.Errorf("write to %s: %w", c.peer, net.ErrClosed)
	}
	return err
}

func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	// A deadline in the past wakes a Read and a Write that wait; what a Write has given to the system is still sent. A stream
	// that refuses the deadline has ended already.
	if err := c.stream.SetDeadline(time.Unix(1, 0)); err != nil {
		return c.stream.Close()
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.reading.Lock()
	defer c.reading.Unlock()
	wait := linger
	if c.reader.Visitor() {
		wait = visitorLinger
	}
	if c.ended || !closeWrite(c.stream) || c.stream.SetDeadline(time.Now().Add(wait)) != nil {
		return c.stream.Close()
	}
	go func() { // until the peer closes too, or linger is over; an error would reach nobody
		_, _ = io.Copy(io.Discard, c.stream) // as above
		_ = c.stream.Close()                 // as above
	}()
	return nil
}

// A promptConn is a conn over a stream that can be used without waiting.
type promptConn struct {
	*conn
	stream nonblocking
	ready  func() bool // a Read need not wait; it is called with reading held
	poller poller      // guarded by reading
	hider  hider       // nil: the stream is none
	left   time.Time   // when the last Read returned; guarded by reading
}

// A hider is a stream that wants to know whether the program comes back soon after a Read.
type hider interface{ hide(soon bool) }

// soon is how soon that is: many times what the monitor thread costs.
const soon = time.Millisecond

// Read polls before it sleeps, where that pays.
func (c *promptConn) Read() ([]wire.Packet, error) {
	reading.Add(1)
	defer reading.Add(-1)
	c.reading.Lock()
	if c.hider != nil {
		c.hider.hide(c.poller.now().Sub(c.left) < soon)
	}
	c.poller.await(c.ready)
	c.reading.Unlock()
	packets, err := c.conn.Read()
	if c.hider != nil {
		c.reading.Lock()
		c.left = c.poller.now()
		c.reading.Unlock()
	}
	return packets, err
}

// TryWriteFrames implements wire.Prompt.
func (c *promptConn) TryWriteFrames(frames []byte) (int, error) {
	if !c.writing.TryLock() {
		return 0, nil
	}
	defer c.writing.Unlock()
	if c.closed.Load() {
		return 0, fmt.Errorf("write to %s: %w", c.peer, net.ErrClosed)
	}
	n, err := c.stream.TryWrite(frames)
	c.writer.Note(frames[:n])
	if err != nil {
		return n, fmt.Errorf("write to %s: %w", c.peer, err)
	}
	return n, nil
}

// TryRead implements wire.Prompt.
func (c *promptConn) TryRead() ([]wire.Packet, error) {
	if !c.reading.TryLock() {
		return nil, nil
	}
	ready := c.ready()
	c.reading.Unlock()
	if !ready {
		return nil, nil
	}
	return c.conn.Read()
}

// A tryReader is a nonblocking stream as an io.Reader: io.ErrNoProgress if nothing is there.
type tryReader struct{ nonblocking }

func (r tryReader) Read(b []byte) (int, error) {
	n, err := r.TryRead(b)
	if n == 0 && err == nil {
		return 0, io.ErrNoProgress
	}
	return n, err
}

// A nonblocking stream reads and writes as much as it can without waiting, also nothing.
type nonblocking interface {
	TryRead([]byte) (int, error) // io.EOF at the end
	TryWrite([]byte) (int, error)
}

// closeWrite ends the writing direction alone. It is false if the stream cannot do that, or is broken.
func closeWrite(c Stream) bool {
	half, ok := c.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}
