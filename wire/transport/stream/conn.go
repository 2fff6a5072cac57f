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

// linger is how long a closed connection waits for the peer to take what was written. A socket that is closed while
// input lies unread is reset, and what the peer has not read yet may be lost.
const linger = time.Second

// New carries packets over a stream. Close closes it.
func New(c net.Conn) wire.Conn {
	s := &conn{stream: c, peer: peerName(c)}
	s.reader = wire.NewReader(c, s.peer)
	s.writer = wire.NewWriter(c, s.peer)
	s.prompt = promptly(c)
	return s
}

type conn struct {
	stream net.Conn
	peer   string
	prompt nonblocking // nil where it cannot be used without waiting

	reading sync.Mutex // held by a Read: Close waits for it before it drains
	reader  *wire.Reader
	writing sync.Mutex // held by a Write
	writer  *wire.Writer
	ended   bool // the peer has closed; guarded by reading

	closed atomic.Bool
}

func (c *conn) Peer() string { return c.peer }

// Traffic implements wire.Conn. A Close takes both locks in an order of its own, so never both here.
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
		// The peer reads no more. Tell it at once that this side is done too: its Close waits for that.
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
	// A deadline in the past wakes a Read and a Write that wait; what a Write had handed over is sent all the same.
	// A stream that takes none is over already.
	if err := c.stream.SetDeadline(time.Unix(1, 0)); err != nil {
		return c.stream.Close()
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.ended || !closeWrite(c.stream) {
		return c.stream.Close()
	}
	if err := c.stream.SetReadDeadline(time.Now().Add(linger)); err != nil {
		return c.stream.Close()
	}
	go drain(c.stream)
	return nil
}

// drain takes what the peer still sends, until it closes too or has had its time. Whatever goes wrong here, the
// connection is over: there is nobody left to tell.
func drain(c net.Conn) {
	_, _ = io.Copy(io.Discard, c) // as above
	_ = c.Close()                 // as above
}

// closeWrite sends the end of the stream, where the stream can do that and is still whole.
func closeWrite(c net.Conn) bool {
	half, ok := c.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}

// peerName names the other side for people.
func peerName(c net.Conn) string {
	if unix, ok := c.(*net.UnixConn); ok {
		if pid := PeerPID(unix); pid > 0 {
			return fmt.Sprintf("unix pid %d", pid)
		}
		return "unix peer"
	}
	if addr := c.RemoteAddr(); addr != nil {
		return addr.Network() + " " + addr.String()
	}
	return "stream"
}
