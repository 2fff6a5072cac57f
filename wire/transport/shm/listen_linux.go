package shm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/stream"
)

// listenURL listens at "shm:///path", a socket where only this user may connect. Where the system has no memory that can
// be shared safely its error is errors.ErrUnsupported; unix:///path works there.
func listenURL(rawURL string) (wire.Listener, error) {
	path, err := socketPath(rawURL)
	if err != nil {
		return nil, err
	}
	probe, err := createMemory(minRingSize) // tell at once what no client could do
	if err != nil {
		return nil, err
	}
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("shm: listen at %s: %w", rawURL, err)
	}
	socket, err := stream.ListenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("shm: listen at %s: %w", rawURL, err)
	}
	l := &listener{socket: socket, url: transport.PathURL("shm", path), arrived: make(chan arrival)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.tasks.Go(l.listen)
	return l, nil
}

// socketPath reads a URL: "shm:///run/x/s.sock".
func socketPath(rawURL string) (string, error) {
	const limit = 107 // of sockaddr_un, without the final zero
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return "", fmt.Errorf("shm: %q is no URL (%w); use shm:///path", rawURL, err)
	case u.Scheme != "shm" || u.Host != "" || !filepath.IsAbs(u.Path):
		return "", fmt.Errorf("shm: %q has no absolute path; use shm:///path, with three slashes", rawURL)
	case len(u.Path) > limit:
		return "", fmt.Errorf("shm: the socket path %q has %d bytes, and the system allows %d; use a shorter directory, "+
			"as by TMPDIR=/tmp", u.Path, len(u.Path), limit)
	}
	return u.Path, nil
}

// A listener greets in the background: a client that is slow to say what it has keeps nobody waiting.
type listener struct {
	socket  net.Listener
	url     string
	arrived chan arrival
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // all goroutines
}

// An arrival is what an Accept returns.
type arrival struct {
	conn *conn
	err  error
}

func (l *listener) URL() string { return l.url }

// listen takes in sockets until the listener is closed.
func (l *listener) listen() {
	for {
		c, err := l.socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, syscall.EMFILE):
			err = fmt.Errorf("%w; raise the limit of open files (ulimit -n)", err)
			fallthrough
		case err != nil:
			l.hand(arrival{err: fmt.Errorf("shm: accept at %s: %w", l.url, err)})
		default:
			l.tasks.Go(func() { l.greet(c.(*net.UnixConn)) })
		}
	}
}

// greet makes a connection of a socket. Who fails at it is no client, and learns so from the end of the socket.
func (l *listener) greet(socket *net.UnixConn) {
	stop := context.AfterFunc(l.ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0)) // ends a greeting that waits; closed already: so much the better
	})
	c, err := take(socket)
	stop()
	if err != nil {
		_ = socket.Close() // as above: there is nobody to tell
		return
	}
	l.hand(arrival{conn: c})
}

// hand waits for an Accept. Who is not accepted before Close is closed.
func (l *listener) hand(a arrival) {
	select {
	case l.arrived <- a:
	case <-l.ctx.Done():
		if a.conn != nil {
			_ = a.conn.Close() // the peer sees its end
		}
	}
}

func (l *listener) Accept() (wire.Conn, error) {
	select {
	case <-l.ctx.Done():
		return nil, fmt.Errorf("shm: accept at %s: %w", l.url, net.ErrClosed)
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
