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
)

// Transport is the transport of "quic://host:port?sha256=<64 hex>". A listener takes "quic://host:port", where port 0 picks
// a free one, and makes the certificate that its URL pins.
func Transport() transport.Transport {
	return transport.Transport{Scheme: "quic", Listen: listenURL, Dial: dialURL}
}

// dialURL connects, to the server with the pinned certificate alone. A server that is crowded is asked again until ctx is
// done; one that does not answer is given up after ten seconds.
func dialURL(ctx context.Context, url string) (wire.Conn, error) {
	hostport, want, pinned, err := address(url)
	if err != nil {
		return nil, err
	}
	if !pinned {
		return nil, fmt.Errorf("quic: %q does not pin the server's certificate; use quic://host:port?sha256=<64 hex>, "+
			"as the server printed it", url)
	}
	to, err := net.ResolveUDPAddr("udp", hostport)
	if err != nil {
		return nil, fmt.Errorf("quic: dial %s: %w; use an address that exists", url, err)
	}
	udp, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, fmt.Errorf("quic: dial %s: %w", url, err)
	}
	c, err := dialFrom(ctx, udp, to, want)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("quic: dial %s: %w", url, err), udp.Close())
	}
	return c, nil
}

// dialFrom dials over a packet connection, which the connection then closes.
func dialFrom(ctx context.Context, packets net.PacketConn, to net.Addr, want pin) (*conn, error) {
	s := &socket{transport: &quicgo.Transport{Conn: packets}, users: 1}
	q, err := join(ctx, s.transport, to, want)
	if err != nil {
		return nil, errors.Join(err, s.transport.Close())
	}
	return newConn(q, q.OpenStream, s.release), nil
}

// join dials until the server has room. Waiting is of this side's wall clock alone: no result depends on it.
func join(ctx context.Context, endpoint *quicgo.Transport, to net.Addr, want pin) (*quicgo.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		var mismatch error
		q, err := endpoint.Dial(ctx, to, clientTLS(want, &mismatch), config(-1))
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
