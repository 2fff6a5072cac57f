// Package relay joins the clients of a host to a server on another one over a single connection. To the server it is one
// peer with many members, as a process with many clients is; to the clients it is the server.
//
// A relay decides nothing. It gives each client a number of its own on the far connection, and passes on what the two sides say,
// in order: the rules of the protocol hold between the client and the server. It says something of its own in three cases only:
// the connection of a client ends (the server is told that the client is gone), the far connection ends, or the relay is stopped
// (the clients are told why).
//
// It needs no secret. The first client that says Hello opens the far connection, with its join token; each Hello passes on
// its own. If it has the token of the run, it takes a first Hello of more than 4 KiB over tcp from those who show it.
//
// The files, from the top down:
//
//	relay.go     the Relay: New, Accept, Serve; how it ends
//	client.go    the connections of this host
//	far.go       the connection to the server
//	visitor.go   connections that any program of this host may have made
//	outbox.go    what waits to be written
//	types.go
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"metasim/wire/transport"
)

// New returns a relay. Nothing happens before Accept.
func New(c Config) *Relay {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Relay{config: c, locals: map[*local]struct{}{}, visitors: make(chan struct{}, maxVisitors), over: make(chan struct{}), dialing: make(chan struct{}, 1)}
}

// acceptPause is how long Accept waits when the system is short of something, such as open files.
const acceptPause = 100 * time.Millisecond

// Accept takes in the clients of a listener, until the listener is closed or the relay ends: then it closes the listener.
func (r *Relay) Accept(l *transport.Listener) error {
	go func() {
		<-r.over
		_ = l.Close() // an error tells that it is closed already
	}()
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			r.config.Log.Warn("a client cannot be taken in; it is tried again", "cause", err)
			select {
			case <-r.over:
			case <-time.After(acceptPause):
			}
		case !r.take(conn, l.Private):
			return conn.Close()
		}
	}
}

// farewellTime is for how long a client that does not read may delay the end of Serve.
const farewellTime = 2 * time.Second

// Serve passes on until the run is over (nil), the server is lost, or ctx is cancelled. It returns when the clients have been
// told.
func (r *Relay) Serve(ctx context.Context) error {
	select {
	case <-r.over:
	case <-ctx.Done():
		cause := fmt.Errorf("the relay %s ended: %w", r.config.Name, context.Cause(ctx))
		r.end(cause)
	}
	force := time.AfterFunc(farewellTime, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for l := range r.locals {
			go func() { _ = l.conn.Close() }() // its writer waits for the peer
		}
		if r.far != nil {
			go func() { _ = r.far.conn.Close() }() // likewise
		}
	})
	defer force.Stop()
	r.goroutines.Wait()
	return r.err
}
