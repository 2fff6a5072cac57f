package shm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"metasim/wire"
	"metasim/wire/transport/stream"
)

// dialURL connects. It does not wait for a server that is still to come. Where the system has no memory that can be
// shared safely its error is errors.ErrUnsupported.
func dialURL(ctx context.Context, url string) (wire.Conn, error) {
	c, err := dial(ctx, url, ringSize)
	if err != nil {
		return nil, err
	}
	return stream.New(c), nil
}

// dial connects with rings of a size.
func dial(ctx context.Context, url string, size uint32) (*conn, error) {
	path, err := socketPath(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var d net.Dialer
	socket, err := d.DialContext(ctx, "unix", path)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("shm: nobody listens at %s (%w); start the server first", url, err)
	}
	if err != nil {
		return nil, fmt.Errorf("shm: dial %s: %w", url, err)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0)) // ends a greeting that waits; closed already: so much the better
	})
	c, err := offer(socket.(*net.UnixConn), size)
	if stop() && err == nil {
		return c, nil
	}
	if err == nil {
		err = c.Close() // the context ended just now, and the socket has its deadline
	} else {
		err = errors.Join(err, socket.Close())
	}
	return nil, fmt.Errorf("shm: dial %s: %w", url, errors.Join(context.Cause(ctx), err))
}
