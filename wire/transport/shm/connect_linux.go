package shm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/stream"
)

// dialURL connects to a listener. Where the system has no memory that can be shared safely, its error is
// errors.ErrUnsupported.
func dialURL(ctx context.Context, url string) (wire.Conn, error) {
	c, err := dial(ctx, url, ringSize)
	if err != nil {
		return nil, err
	}
	return stream.New(c), nil
}

// dial connects with rings of a size.
func dial(ctx context.Context, url string, size uint32) (*conn, error) {
	path, err := stream.SocketPath("shm", url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	socket, err := stream.Dial(ctx, "unix", path, url)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0)) // ends a greeting that waits; fails only if the socket is closed
	})
	c, err := offer(socket.(*net.UnixConn), size)
	if stop() && err == nil {
		return c, nil
	}
	if err == nil {
		err = c.Close() // ctx ended after the greeting, and has set the deadline of the socket
	} else {
		err = errors.Join(err, socket.Close())
	}
	return nil, fmt.Errorf("dial %s: %w", url, errors.Join(context.Cause(ctx), err))
}

// listenURL listens at "shm:///path", a socket where only this user may connect. Where the system has no memory that can
// be shared safely, its error is errors.ErrUnsupported.
func listenURL(rawURL string) (wire.Listener, error) {
	path, err := stream.SocketPath("shm", rawURL)
	if err != nil {
		return nil, err
	}
	probe, err := createMemory(minRingSize) // a system without such memory is found here, not by the first client
	if err != nil {
		return nil, err
	}
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("listen at %s: %w", rawURL, err)
	}
	socket, err := stream.ListenUnix(path)
	if err != nil {
		return nil, err
	}
	l := &listener{socket: socket, url: transport.PathURL("shm", path), arrived: make(chan arrival)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.tasks.Go(l.listen)
	return l, nil
}

// A listener greets each client on a goroutine of its own: a slow client does not delay the others.
type listener struct {
	socket  net.Listener
	url     string
	arrived chan arrival
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // all goroutines
}

// An arrival is the result of one Accept.
type arrival struct {
	conn *conn
	err  error
}

func (l *listener) URL() string { return l.url }

// listen accepts sockets until the listener is closed.
func (l *listener) listen() {
	for {
		c, err := l.socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			l.hand(arrival{err: stream.AcceptError(l.url, err)})
		default:
			l.tasks.Go(func() { l.greet(c.(*net.UnixConn)) })
		}
	}
}

// greet makes a connection of a socket. A peer that fails the greeting is no client: its socket is closed.
func (l *listener) greet(socket *net.UnixConn) {
	stop := context.AfterFunc(l.ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0)) // ends a greeting that waits; fails only if the socket is closed
	})
	c, err := take(socket)
	stop()
	if err != nil {
		_ = socket.Close() // its error would not be reported anywhere
		return
	}
	l.hand(arrival{conn: c})
}

// hand waits for an Accept. A connection that is not accepted before Close is closed.
func (l *listener) hand(a arrival) {
	select {
	case l.arrived <- a:
	case <-l.ctx.Done():
		if a.conn != nil {
			_ = a.conn.Close() // the peer sees the end of the socket
		}
	}
}

func (l *listener) Accept() (wire.Conn, error) {
	select {
	case <-l.ctx.Done():
		return nil, fmt.Errorf("accept at %s: %w", l.url, net.ErrClosed)
	case a := <-l.arrived:
		if a.err != nil {
			return nil, a.err
		}
		return stream.New(a.conn), nil
	}
}

// Close stops listening, and removes the socket file.
func (l *listener) Close() error {
	if l.ctx.Err() != nil {
		return nil
	}
	l.cancel()
	err := l.socket.Close()
	l.tasks.Wait()
	return err
}
