package mem

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"metasim/wire"
)

// ErrRefused says that nobody listens: the Net was closed.
var ErrRefused = errors.New("mem: nobody listens; start the server first")

// A Net is where a server and its clients meet: the server's wire.Listener, the clients' wire.Dialer.
type Net struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []wire.Conn // dialed, not yet accepted
	dialed  int
	closed  bool
}

// NewNet returns a Net on which a server listens from now on, as it were: a Dial does not wait for its Accept.
func NewNet() *Net {
	n := &Net{}
	n.changed.L = &n.mu
	return n
}

// Dial connects. The URL does not matter: there is one server. It fails with ErrRefused after Close.
func (n *Net) Dial(ctx context.Context, _ string) (wire.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrRefused
	}
	n.dialed++
	client, server := Pipe(fmt.Sprintf("mem client %d", n.dialed), "mem server")
	n.waiting = append(n.waiting, server)
	n.changed.Signal()
	return client, nil
}

// Accept waits for the next connection. It fails with net.ErrClosed after Close.
func (n *Net) Accept() (wire.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.waiting) == 0 && !n.closed {
		n.changed.Wait()
	}
	if n.closed {
		return nil, net.ErrClosed
	}
	conn := n.waiting[0]
	n.waiting = n.waiting[1:]
	return conn, nil
}

// Close stops listening: who was not accepted yet finds the connection closed. Accepted connections live on.
func (n *Net) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	var errs []error
	for _, conn := range n.waiting {
		errs = append(errs, conn.Close())
	}
	n.waiting = nil
	n.changed.Broadcast()
	return errors.Join(errs...)
}

// URL is "mem:": it leads nowhere but here.
func (n *Net) URL() string { return "mem:" }
