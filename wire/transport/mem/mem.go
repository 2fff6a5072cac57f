// Package mem is the transport inside one process: packets are handed over as they are and never become bytes.
//
// A Net connects clients to one server: it is the server's wire.Listener, and clients call its Dial. Pipe makes a single
// connection.
//
// # Duties of the caller
//
//  1. A payload that was written or read is not changed: writer and reader share it, and so do all recipients of a message.
//  2. Do not read the Client field of events: here it arrives as it was written, elsewhere as zero.
//
// # What is promised
//
// Packets are checked as on any other transport, so a program that runs in one process also runs over a network. A Write
// waits while a mebibyte is unread, like a socket whose buffer is full. What was written before a Close is still read.
package mem

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"metasim/wire"
)

// ErrRefused is the error of Dial after Close.
var ErrRefused = errors.New("nobody listens; start the server first")

// A Net connects clients to one server. Each Net is independent of others.
type Net struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []wire.Conn // dialed, not yet accepted
	dialed  int
	closed  bool
}

// NewNet returns a Net that is open: Dial does not wait for an Accept.
func NewNet() *Net {
	n := &Net{}
	n.changed.L = &n.mu
	return n
}

// Dial connects. It fails with ErrRefused after Close.
func (n *Net) Dial(ctx context.Context) (wire.Conn, error) {
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

// Close stops listening and closes the connections that were not accepted. Accepted connections stay open.
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

// URL is "mem:": no other program can use it.
func (n *Net) URL() string { return "mem:" }
