package quic

import (
	"context"
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
	release func() error // lets go of the UDP socket
	peer    string

	opened chan struct{} // closed when stream or failed is set
	stream *quicgo.Stream
	failed error

	reading sync.Mutex // held by a Read: Close waits for it before it drains
	reader  *wire.Reader
	ended   bool // the peer has closed; guarded by reading

	writing sync.Mutex // held by a Write: a stream is not closed under it
	writer  *wire.Writer

	closed atomic.Bool
}

// newConn carries packets over q. open finds the stream: it returns at once where this side opens it, and once the
// peer has written where that does.
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

// Traffic implements wire.Conn. A Close takes both locks in an order of its own, so never both here.
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
		// The peer reads no more, and its Close waits until this side has read to the end. It has.
		c.ended = true
		if closing := c.quic.CloseWithError(0, ""); closing != nil {
			return nil, errors.Join(err, closing)
		}
		return nil, err
	case errors.As(err, new(*wire.ProtocolError)):
		return nil, err
	}
	return nil, c.broken("read from", errors.Unwrap(err)) // of what wire.Reader says
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
	return c.broken("write to", errors.Unwrap(err)) // of what wire.Writer says
}

// wait waits for the stream, and returns why there is none.
func (c *conn) wait() error {
	<-c.opened
	if c.closed.Load() {
		return net.ErrClosed
	}
	return c.failed
}

// broken words the end of a connection. quic-go calls every end net.ErrClosed, also that of a peer that died; here
// only this side's own Close is.
func (c *conn) broken(what string, err error) error {
	switch {
	case c.closed.Load():
		return fmt.Errorf("%s %s: %w", what, c.peer, net.ErrClosed)
	case errors.As(err, new(*quicgo.IdleTimeoutError)):
		return fmt.Errorf("%s %s: nothing was heard for %v: it died, or the network did", what, c.peer, silence)
	}
	return fmt.Errorf("%s %s: %v", what, c.peer, err) // not %w, as above
}

// Close closes the write side and waits for the peer to read to the end, as quic-go forgets what is unsent or unread
// when a connection is closed.
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
		return // nobody is there to wait for
	}
	_ = c.stream.SetReadDeadline(time.Now().Add(linger)) // as above
	_, _ = io.Copy(io.Discard, c.stream)                 // whichever way it ends, the connection is over
}

// acceptStream waits for the stream that the peer opens, until the connection ends.
func acceptStream(q *quicgo.Conn) (*quicgo.Stream, error) {
	return q.AcceptStream(context.Background())
}
