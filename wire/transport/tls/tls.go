// Package tls carries the protocol over TCP with TLS 1.3, between machines. See package secure for who trusts whom, and package stream for
// what else is promised: this is a stream within a TCP connection.
package tls

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/secure"
	"metasim/wire/transport/stream"
)

const scheme = "tls"

// Transport is the transport of "tls://host:port?sha256=<64 hex>". Listen takes "tls://host:port", where port 0 stands for a free one. It
// shows the certificate of a server; nil: it makes one.
func Transport(s *secure.Server) transport.Transport {
	return transport.Transport{
		Scheme: scheme,
		Listen: func(url string) (wire.Listener, error) { return listen(url, s) },
		Dial:   func(ctx context.Context, url string) (wire.Conn, error) { return dial(ctx, url, "") },
		DialAs: dial,
	}
}

func dial(ctx context.Context, url, token string) (wire.Conn, error) {
	hostport, want, err := secure.ParseServer(scheme, url)
	if err != nil {
		return nil, err
	}
	var mismatch error
	config, err := secure.ClientTLS(want, token, &mismatch)
	if err != nil {
		return nil, err
	}
	return stream.DialWithin(ctx, hostport, url, func(c net.Conn) (net.Conn, error) {
		inner := tls.Client(c, config)
		err := inner.HandshakeContext(ctx)
		if mismatch != nil {
			return nil, mismatch
		}
		if err != nil {
			return nil, fmt.Errorf("the server does not speak TLS: %w; use the URL as the server printed it", err)
		}
		return conn{inner}, nil
	})
}

// A conn is TLS whose Close does not fail because the peer is gone: it could not be told, and the connection is closed in any case.
type conn struct{ *tls.Conn }

func (c conn) Close() error {
	_ = c.Conn.Close() // as above
	return nil
}
