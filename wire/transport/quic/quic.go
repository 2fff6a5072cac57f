// Package quic carries the protocol over QUIC, between machines: TLS 1.3, and one bidirectional stream for each
// connection, as a promise on a second stream could overtake a send.
//
// The server's URL pins its certificate: a client with that URL trusts this server and no other. The client shows a certificate that follows
// from its join token: see package secure.
//
// # Duties of the caller
//
//  1. The client writes first, within eight seconds: its connection is accepted when its first bytes have come.
//  2. Always have a Read waiting, and close every Conn: a Close waits up to eight seconds for the peer to read to the end.
//  3. Give the URL to clients unchanged, with its pin, in a way that is trusted: the environment of a child, a private file.
//
// # What is promised
//
// A peer whose process has ended is noticed within three seconds, as the kernel of its host says so. One that nobody answers for counts as dead
// when nothing has come from it for as long as the server says: transport.DefaultPeerTimeout, unless
// SetPeerTimeout is called on its listener. A process that stands still, as in a debugger, is silent too. What was written
// before a Close is read by a peer that reads. A Dial that a crowded server refuses is repeated, with jitter.
//
// quic-go asks for large socket buffers, and warns on the standard logger if the system gives smaller ones. That is turned off,
// unless the variable QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING says otherwise: most runs need none. A listener counts the
// datagrams that its buffer had no room for, so that who runs the server can be told.
package quic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/secure"
)

// Transport is the transport of "quic://host:port?sha256=<64 hex>". Listen takes "quic://host:port", where port 0 stands for
// a free one. It shows the certificate of a server; nil: it makes one.
func Transport(s *secure.Server) transport.Transport {
	return transport.Transport{
		Scheme: "quic",
		Listen: func(url string) (wire.Listener, error) { return listenURL(url, s) },
		Dial:   func(ctx context.Context, url string) (wire.Conn, error) { return dialURL(ctx, url, "") },
		DialAs: dialURL,
	}
}

// trustKey is the key of a connection's context under which there is a function: the peer is no visitor any more.
type trustKey struct{}

// dialURL connects to the server with the pinned certificate and no other. It repeats while the server is crowded, until ctx
// is done, and gives up after ten seconds without an answer.
func dialURL(ctx context.Context, url, token string) (wire.Conn, error) {
	hostport, want, err := secure.ParseServer("quic", url)
	if err != nil {
		return nil, err
	}
	to, err := net.ResolveUDPAddr("udp", hostport)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w; use an address that exists", url, err)
	}
	udp, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", url, err)
	}
	c, err := dialFrom(ctx, udp, to, want, token)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dial %s: %w", url, err), udp.Close())
	}
	go c.watch(make(chan struct{}, 1))
	return c.carry(), nil
}

// dialFrom dials over a packet connection. The conn that it returns closes it.
func dialFrom(ctx context.Context, packets net.PacketConn, to net.Addr, want secure.Pin, token string) (*conn, error) {
	quiet()
	s := &socket{transport: &quicgo.Transport{Conn: packets}, users: 1}
	q, err := join(ctx, s.transport, to, want, token)
	if err != nil {
		return nil, errors.Join(notLetIn(err), s.transport.Close())
	}
	stream, err := q.OpenStream()
	if err != nil {
		return nil, errors.Join(notLetIn(err), q.CloseWithError(0, ""), s.transport.Close())
	}
	return &conn{quic: q, stream: stream, release: s.release, dialed: s.transport}, nil
}

// join dials until the server has room. No result depends on how long it waits.
func join(ctx context.Context, endpoint *quicgo.Transport, to net.Addr, want secure.Pin, token string) (*quicgo.Conn, error) {
	var mismatch error
	tls, err := secure.ClientTLS(want, token, &mismatch)
	if err != nil {
		return nil, err
	}
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		q, err := endpoint.Dial(ctx, to, tls, config(-1, never))
		var refused *quicgo.TransportError
		switch {
		case err == nil:
			return q, nil
		case mismatch != nil:
			return nil, mismatch
		case errors.As(err, new(*quicgo.HandshakeTimeoutError)), ctx.Err() != nil:
			return nil, fmt.Errorf("nobody answers (%w); start the server first", errors.Join(ctx.Err(), err))
		case !errors.As(err, &refused) || !refused.Remote || refused.ErrorCode != quicgo.ConnectionRefused:
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the server refuses (%w); start fewer clients at once", context.Cause(ctx))
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}
