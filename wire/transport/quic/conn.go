package quic

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"metasim/wire"
	"metasim/wire/transport/stream"
)

// conn is the one stream of a QUIC connection. Package stream carries packets over it. It has no CloseWrite: its Close
// itself waits for the peer.
type conn struct {
	quic    *quicgo.Conn
	release func() error // releases the UDP socket

	opened chan struct{} // closed when stream or failed is set
	stream *quicgo.Stream
	failed error

	ended bool // the peer has closed
	woken bool // SetDeadline has woken a Read and a Write that waited
}

// newConn returns the stream of q. open returns it: at once on the side that opens it, and on the other side when the peer
// has written.
func newConn(q *quicgo.Conn, open func() (*quicgo.Stream, error), release func() error) *conn {
	c := &conn{quic: q, release: release, opened: make(chan struct{})}
	go func() {
		defer close(c.opened)
		c.stream, c.failed = open()
	}()
	return c
}

// Read waits for the stream, then for bytes.
func (c *conn) Read(b []byte) (int, error) {
	if <-c.opened; c.failed != nil {
		return 0, broken(c.failed)
	}
	n, err := c.stream.Read(b)
	if n == 0 && err == io.EOF && !c.ended {
		// The Close of the peer waits until this side has read to the end, which is now.
		c.ended = true
		_ = c.quic.CloseWithError(0, "") // the peer has closed too
	}
	return n, broken(err)
}

// Write waits for the stream.
func (c *conn) Write(b []byte) (int, error) {
	if <-c.opened; c.failed != nil {
		return 0, broken(c.failed)
	}
	n, err := c.stream.Write(b)
	return n, broken(err)
}

// broken is the error of a connection that ended. To quic-go every end is net.ErrClosed, also the death of the peer; here
// only a Close of this side is, which package stream reports.
func broken(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.As(err, new(*quicgo.IdleTimeoutError)):
		return fmt.Errorf("no packet came for %v: the peer died, or the network failed", silence)
	}
	return errors.New(err.Error())
}

// SetDeadline fails if there is no stream yet: the peer has not written, so nothing could be written to it.
func (c *conn) SetDeadline(t time.Time) error {
	select {
	case <-c.opened:
		if c.failed == nil {
			c.woken = true
			return c.stream.SetDeadline(t)
		}
	default:
	}
	return net.ErrClosed
}

// Close closes the write side and waits for the peer to read to the end: quic-go drops unsent and unread bytes when a
// connection is closed. No Read and no Write is under way if SetDeadline has succeeded.
func (c *conn) Close() error {
	if c.woken && !c.ended && c.stream.Close() == nil {
		_ = c.stream.SetReadDeadline(time.Now().Add(linger)) // does not fail
		_, _ = io.Copy(io.Discard, c.stream)                 // an error ends the wait too
	}
	err := c.quic.CloseWithError(0, "")
	<-c.opened
	return errors.Join(err, c.release())
}

// carry carries packets over c.
func (c *conn) carry() wire.Conn { return stream.New(c, "quic "+c.quic.RemoteAddr().String()) }
