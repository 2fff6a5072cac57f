// Package transport connects to a server by its URL, whatever the transport: the one room that knows all of them.
//
// The interfaces of wire keep the transports out of client and server. This package is where they meet again, so that
// an embedder needs a single import and a program any METASIM_SERVER: client may import it, server has no need to.
// The in-process transport has no URL that leads anywhere: its mem.Net is a wire.Dialer of its own.
package transport

import (
	"context"
	"fmt"
	"strings"

	"metasim/wire"
	"metasim/wire/transport/quic"
	"metasim/wire/transport/shm"
	"metasim/wire/transport/stream"
)

// Dialer is URL as a wire.Dialer.
type Dialer struct{}

// Dial is URL.
func (Dialer) Dial(ctx context.Context, url string) (wire.Conn, error) { return URL(ctx, url) }

// URL connects to "unix:///path", "shm:///path", "tcp://host:port" or "quic://host:port?sha256=<64 hex>". It does not
// wait for a server that is still to come; its errors say what to do.
func URL(ctx context.Context, url string) (wire.Conn, error) {
	scheme, _, found := strings.Cut(url, ":")
	switch {
	case url == "":
		return nil, fmt.Errorf("transport: no server is given; set METASIM_SERVER to the URL that the server printed")
	case found && (scheme == "unix" || scheme == "tcp"):
		return stream.Dialer{}.Dial(ctx, url)
	case found && scheme == "shm":
		return shm.Dialer{}.Dial(ctx, url)
	case found && scheme == "quic":
		return quic.Dialer{}.Dial(ctx, url)
	}
	return nil, fmt.Errorf("transport: %q is no server's URL; use unix://, shm://, tcp:// or quic://", url)
}
