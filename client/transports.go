package client

import (
	"context"
	"errors"
	"fmt"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/shm"
	"metasim/wire/transport/stream"
)

// WithTransports reaches the server with these transports. Default: unix, tcp and shm. QUIC is left to whoever asks for
// it, because it more than doubles a small program: client.WithTransports(all.Table()), of metasim/wire/transport/all.
func WithTransports(table transport.Table) Option { return func(o *options) { o.transports = table } }

// dial connects to the server that the options name.
func dial(ctx context.Context, o options) (wire.Conn, error) {
	table := o.transports
	if table == nil {
		table = transport.Table{stream.Unix(), stream.TCP(), shm.Transport()}
	}
	conn, err := table.Dial(ctx, o.url)
	if errors.As(err, new(*transport.UnknownError)) && o.transports == nil {
		err = fmt.Errorf(`%w; for quic:// import "metasim/wire/transport/all" and give Complete or Connect the option `+
			"client.WithTransports(all.Table())", err)
	}
	return conn, err
}
