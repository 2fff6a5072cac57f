package stream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"

	"metasim/wire"
)

func dialURL(ctx context.Context, url string) (wire.Conn, error) {
	network, addr, err := address(url)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("stream: nobody listens at %s (%w); start the server first", url, err)
	}
	if err != nil {
		return nil, fmt.Errorf("stream: dial %s: %w", url, err)
	}
	return New(c), nil
}
