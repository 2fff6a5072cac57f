package quic

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"metasim/wire"
)

// conn is the one stream of a QUIC connection.
type conn struct {
	quic    *quicgo.Conn
	release func() error // releases the UDP socket
	peer    string

	opened chan struct{} // closed when stream and its reader and writer, or failed, are set
	stream *quicgo.Stream
	failed error

	reading sync.Mutex // held during a Read: Close waits for it before it drains
	reader  *wire.Reader
	ended   bool // the peer has closed; guarded by reading

	writing sync.Mutex // held during a Write: Close waits for it before it closes the stream
	writer  *wire.Writer

	closed atomic.Bool
}

// newConn carries packets over q. open returns the stream: at once on the side that opens it, and on the other side when the
// peer has written.
func newConn(q *quicgo.Conn, open func() (*quicgo.Stream, error), release func() error) *conn {
	c := &conn{quic: q, release: release, peer: "quic " + q.RemoteAddr().String(), opened: make(chan struct{})}
	go func() {
		defer close(c.opened)
		if c.stream, c.failed = open(); c.failed == nil {
			c.reader = wire.NewReader(c.stream, c.peer)
			c.writer = wire.NewWriter(c.stream, c.peer)
		}
	}()
	return c
}

func (c *conn) Peer() string { return c.peer }

// Traffic implements wire.Conn. It never holds both locks: Close takes them in the other order.
func (c *conn) Traffic() (t wire.Traffic) {
	select {
	case <-c.opened:
		if c.failed != nil {
			return t
		}
	default:
		return t
	}
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
	if err := c.wait(); err != nil {
		return nil, c.broken("read from", err)
	}
	packets, err := c.reader.Read()
	switch {
	case err == nil:
		return packets, nil
	case c.closed.Load():
		return nil, c.broken("read from", net.ErrClosed)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		// The Close of the peer waits until this side has read to the end, which is now.
		c.ended = true
		if closing := c.quic.CloseWithError(0, ""); closing != nil {
			return nil, errors.Join(err, closing)
		}
		return nil, err
	case errors.As(err, new(*wire.ProtocolError)):
		return nil, err
	}
	return nil, c.broken("read from", errors.Unwrap(err)) // without the words of wire.Reader
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
	if err := c.wait(); err != nil {
		return c.broken("write to", err)
	}
	err := send()
	if err == nil || errors.As(err, new(*wire.ProtocolError)) {
		return err
	}
	return c.broken("write to", errors.Unwrap(err)) // without the words of wire.Writer
}

// wait waits for the stream, and returns the error if there is none.
func (c *conn) wait() error {
	<-c.opened
	if c.closed.Load() {
		return net.ErrClosed
	}
	return c.failed
}

// broken is the error of a connection that ended. To quic-go every end is net.ErrClosed, also the death of the peer; here
// only a Close of this side is.
func (c *conn) broken(what string, err error) error {
	switch {
	case c.closed.Load():
		return fmt.Errorf("%s %s: %w", what, c.peer, net.ErrClosed)
	case errors.As(err, new(*quicgo.IdleTimeoutError)):
		return fmt.Errorf("%s %s: no packet came for %v: the peer died, or the network failed", what, c.peer, silence)
	}
	return fmt.Errorf("%s %s: %v", what, c.peer, err) // not %w, as above
}

// Close closes the write side and waits for the peer to read to the end: quic-go drops unsent and unread bytes when a
// connection is closed.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	select {
	case <-c.opened:
		if c.failed == nil {
			c.flush()
		}
	default: // the peer has not written yet, so nothing could be written to it
	}
	err := c.quic.CloseWithError(0, "")
	<-c.opened
	return errors.Join(err, c.release())
}

func (c *conn) flush() {
	// Deadlines in the past wake a Read and a Write that wait. Setting one does not fail.
	_ = c.stream.SetDeadline(time.Unix(1, 0))
	c.writing.Lock()
	defer c.writing.Unlock()
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.ended || c.stream.Close() != nil {
		return // the peer has closed too
	}
	_ = c.stream.SetReadDeadline(time.Now().Add(linger)) // as above
	_, _ = io.Copy(io.Discard, c.stream)                 // an error ends the wait too
}
