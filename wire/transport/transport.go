// Package transport listens and dials by the scheme of a URL: "unix:///path", "tcp://host:port".
//
// A Transport is one way to carry the protocol. A Table is the transports that a program links; package all lists
// every one there is, and package client has the small ones by default (unix, tcp and shm, without QUIC). To add a
// transport is a folder beside this file that returns a Transport, and a line in all.
//
// The in-process transport is in no table: its mem.Net has no URL that leads anywhere, and is dialed itself.
package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"metasim/wire"
)

// A Transport is one way to carry the protocol between processes.
type Transport struct {
	// Scheme begins its URLs: "tcp".
	Scheme string
	// Private says that an address is the path of a socket to which only this user can connect. Otherwise an address is
	// host:port, and every program that reaches the port can connect: then clients need a token.
	Private bool
	// Fallback is the scheme that carries the same, more slowly, on a system where Listen fails with
	// errors.ErrUnsupported. Empty: none.
	Fallback string
	// Listen listens at a URL.
	Listen func(url string) (wire.Listener, error)
	// Dial connects to the URL that a listener gives. It does not wait for a server that is started later.
	Dial func(ctx context.Context, url string) (wire.Conn, error)
	// DialAs is Dial for a peer that proves with its join token who it is, before it says anything. Nil: the transport has no such proof.
	DialAs func(ctx context.Context, url, token string) (wire.Conn, error)
}

// An AbsentError is the error of Dial where nobody listens: the server has not started yet, or its run is over.
type AbsentError struct {
	URL string
	Err error
}

func (e *AbsentError) Error() string {
	return fmt.Sprintf("nobody listens at %s (%v); start the server first, and join before its run begins", e.URL, e.Err)
}
func (e *AbsentError) Unwrap() error { return e.Err }

// A Table is the transports of a program. It is not changed after it is made.
type Table []Transport

// Dial connects to the server with this URL. It fails with an *UnknownError if no transport has the URL's scheme.
func (t Table) Dial(ctx context.Context, url string) (wire.Conn, error) {
	return t.DialAs(ctx, url, "")
}

// DialAs is Dial with the join token of the client that connects, for transports that need it.
func (t Table) DialAs(ctx context.Context, url, token string) (wire.Conn, error) {
	scheme, _, found := strings.Cut(url, ":")
	if !found {
		scheme = ""
	}
	one, err := t.find(scheme, url)
	if err != nil {
		return nil, err
	}
	if one.DialAs != nil {
		return one.DialAs(ctx, url, token)
	}
	return one.Dial(ctx, url)
}

// Unanswered reports whether a Dial failed because nobody listens at the address: it may succeed when the server is started.
func Unanswered(err error) bool {
	var timeout net.Error
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// DefaultPeerTimeout: if nothing comes from a host for this long, its connections are closed as broken.
const DefaultPeerTimeout = 30 * time.Second

// SetPeerTimeout sets after how long of silence the host of a peer has vanished, for the connections that are accepted from now
// on. Zero: DefaultPeerTimeout. Negative: never. A transport without such a method is within one host, where the system says at once that a peer has died.
func (l *Listener) SetPeerTimeout(d time.Duration) {
	if p, ok := l.Listener.(interface{ SetPeerTimeout(time.Duration) }); ok {
		p.SetPeerTimeout(max(0, cmp.Or(d, DefaultPeerTimeout)))
	}
}

// A Listener is a wire.Listener, and how it was opened.
type Listener struct {
	wire.Listener
	// Unsupported says why the listener is of the fallback. Nil: it is of the transport that was asked for.
	Unsupported error
	// Private is Transport.Private of the transport that listens.
	Private bool
	dir     string // temporary, to be removed; empty: none
}

// loopback is where a transport of host:port listens by default: a free port that only this host reaches.
const loopback = "127.0.0.1:0"

// Listen listens with a transport at an address: a path or host:port. An empty address is a socket in a private
// temporary directory, which Close removes, or a free port of the loopback interface. The path of such a socket, of a server
// that has died, may be given again. Where the system does not support
// the transport, its fallback is used. It fails with an *UnknownError if no transport has the scheme.
func (t Table) Listen(scheme, address string) (*Listener, error) {
	one, err := t.find(scheme, scheme)
	if err != nil {
		return nil, err
	}
	l, err := one.listenAt(address)
	if !errors.Is(err, errors.ErrUnsupported) || one.Fallback == "" {
		return l, err
	}
	unsupported := err
	if l, err = t.Listen(one.Fallback, address); err != nil {
		return nil, err
	}
	l.Unsupported = unsupported
	return l, nil
}

func (one Transport) listenAt(address string) (*Listener, error) {
	if !one.Private {
		l, err := one.Listen(one.Scheme + "://" + cmp.Or(address, loopback))
		if err != nil {
			return nil, err
		}
		return &Listener{Listener: l}, nil
	}
	path, err := filepath.Abs(address)
	if err != nil {
		return nil, err
	}
	dir := ""
	if address == "" {
		if dir, err = PrivateDir(); err != nil {
			return nil, err
		}
		path = filepath.Join(dir, "s")
	} else if dir, err = privateDirOf(path); err != nil {
		return nil, err
	}
	l, err := one.Listen(PathURL(one.Scheme, path))
	if err != nil && dir != "" {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return nil, err
	}
	return &Listener{Listener: l, Private: true, dir: dir}, nil
}

// PathURL is the URL of a socket: "unix:///run/x/s.sock".
func PathURL(scheme, path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/x
		path = "/" + path
	}
	return (&url.URL{Scheme: scheme, Path: path}).String()
}

// Close stops listening, and removes what is left on disk. It may be called when a server has closed the listener.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if l.dir != "" {
		err = errors.Join(err, os.RemoveAll(l.dir))
	}
	return err
}

// Dropped returns how many datagrams the system dropped because the receive buffer of the transport was full, where there is
// one and the system tells. They were sent again, which takes time. It is known when all connections are closed.
func (l *Listener) Dropped() uint64 {
	if d, ok := l.Listener.(interface{ Dropped() uint64 }); ok {
		return d.Dropped()
	}
	return 0
}

// Schemes lists the schemes, in the order of the table.
func (t Table) Schemes() []string {
	var all []string
	for _, one := range t {
		all = append(all, one.Scheme)
	}
	return all
}

func (t Table) find(scheme, url string) (Transport, error) {
	for _, one := range t {
		if one.Scheme == scheme {
			return one, nil
		}
	}
	return Transport{}, &UnknownError{URL: url, Schemes: t.Schemes()}
}

// An UnknownError says that a program links no transport for a URL.
type UnknownError struct {
	URL     string
	Schemes []string // those that it links
}

func (e *UnknownError) Error() string {
	if e.URL == "" {
		return "the URL of the server is empty; set METASIM_SERVER to the URL that the server printed"
	}
	known := strings.Join(e.Schemes, "://, ") + "://"
	if i := strings.LastIndex(known, ", "); i >= 0 {
		known = known[:i] + " or" + known[i+1:]
	}
	url := e.URL
	if scheme, _, found := strings.Cut(url, "://"); found { // what follows is long, and not what is wrong
		url = scheme + "://"
	}
	return fmt.Sprintf("no transport has the scheme of %q; use %s", url, known)
}
