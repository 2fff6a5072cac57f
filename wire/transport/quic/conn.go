package quic

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
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

	stream *quicgo.Stream

	dialed *quicgo.Transport // this side has dialed over it; nil: the peer has dialed
	path   *quicgo.Path      // a second path to the server, over the same socket, to ask on; nil: not yet

	suspected atomic.Bool // the process of the peer is said to have ended
	gone      atomic.Bool // the kernel of its host says so

	ended bool // the peer has closed
	woken bool // SetDeadline has woken a Read and a Write that waited
}

// Trust says that the peer is no visitor any more.
func (c *conn) Trust() {
	if trust, ok := c.quic.Context().Value(trustKey{}).(func()); ok {
		trust()
	}
}

// Suspect notes that the process of the peer has probably ended. If it has, no packet comes any more, not even the keep-alive packets of
// an idle peer, and the connection ends after `silence`. If another process goes on in its place, that one is not silent.
func (c *conn) Suspect() {
	if c.suspected.Swap(true) {
		return
	}
	go func() {
		last := uint64(0)
		for {
			received := c.quic.ConnectionStats().PacketsReceived
			if received == last {
				_ = c.quic.CloseWithError(0, "the process has ended") // the peer is gone
				return
			}
			last = received
			select {
			case <-c.quic.Context().Done():
				return
			case <-time.After(silence):
			}
		}
	}()
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.stream.Read(b)
	if n == 0 && err == io.EOF && !c.ended {
		// The Close of the peer waits until this side has read to the end, which is now.
		c.ended = true
		_ = c.quic.CloseWithError(0, "") // the peer has closed too
	}
	return n, c.broken(err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.stream.Write(b)
	return n, c.broken(err)
}

// broken translates the error of a connection that has ended. quic-go says net.ErrClosed for every end, also for the death of the peer.
// Here net.ErrClosed means a Close of this side only, and package stream reports that.
func (c *conn) broken(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.As(err, new(*quicgo.IdleTimeoutError)):
		return errors.New("no packet came for as long as peer_timeout allows: the peer's host vanished, its process stood still, or the network failed")
	case errors.As(err, new(*quicgo.StatelessResetError)):
		return errors.New("its process has ended: another one that has its port and its key does not know the connection")
	case c.dialed != nil && isBadCertificate(err):
		return errNotLetIn
	case c.gone.Load() && errors.As(err, new(*quicgo.ApplicationError)):
		return errors.New("its process has ended: it was silent, and its host says that no process has its port any more")
	case c.suspected.Load() && errors.As(err, new(*quicgo.ApplicationError)):
		return fmt.Errorf("no packet came for %v after its process had ended", silence)
	}
	return errors.New(err.Error())
}

var errNotLetIn = errors.New("the server does not take this client's certificate, which follows from its join token; give METASIM_TOKEN as the server wrote it, " +
	"or in METASIM_CERT a certificate that the server's authority has signed")

// notLetIn translates the error of a connection that the listener has ended because of the token: the handshake may end here before the listener has looked at the certificate.
func notLetIn(err error) error {
	if isBadCertificate(err) {
		return errNotLetIn
	}
	return err
}

// isBadCertificate reports whether the peer has ended the handshake by this alert of TLS: in QUIC its number is 0x100 and that of the alert (RFC 9001, section 4.8).
func isBadCertificate(err error) bool {
	var e *quicgo.TransportError
	return errors.As(err, &e) && e.Remote && e.ErrorCode == 0x100+42
}

func (c *conn) SetDeadline(t time.Time) error {
	c.woken = true
	return c.stream.SetDeadline(t)
}

// Close closes the write side and waits for the peer to read to the end: quic-go drops unsent and unread bytes when a
// connection is closed. No Read and no Write is under way if SetDeadline has succeeded.
func (c *conn) Close() error {
	if c.woken && !c.ended && c.stream.Close() == nil {
		_ = c.stream.SetReadDeadline(time.Now().Add(linger)) // does not fail
		_, _ = io.Copy(io.Discard, c.stream)                 // an error ends the wait too
	}
	return errors.Join(c.quic.CloseWithError(0, ""), c.release())
}

// carry carries packets over c.
func (c *conn) carry() wire.Conn { return stream.New(c, "quic "+c.quic.RemoteAddr().String()) }
