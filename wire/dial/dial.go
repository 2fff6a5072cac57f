// Package dial picks a transport.
package dial

import (
	"context"

	"metasim/wire"
	"metasim/wire/stream"
)

func URL(ctx context.Context, url string) (wire.Conn, error) { return stream.Dialer{}.Dial(ctx, url) }
