package stream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"metasim/wire"
	"metasim/wire/transport"
)

// Unix is the transport of "unix:///path", where only this user may connect.
func Unix() transport.Transport {
	path := func(rawURL string) (string, error) { return SocketPath("unix", rawURL) }
	return transport.Transport{Scheme: "unix", Private: true, Listen: listenUnix, Dial: dialer("unix", path)}
}

// TCP is the transport of "tcp://host:port", where port 0 stands for a free one. Every program that reaches the port can
// connect: use a local one, and check the token.
func TCP() transport.Transport {
	return transport.Transport{Scheme: "tcp", Listen: listenTCP, Dial: dialer("tcp", hostPort)}
}

func listenTCP(rawURL string) (wire.Listener, error) {
	address, err := hostPort(rawURL)
	if err != nil {
		return nil, err
	}
	return ListenWithin(address, func(bound string) string { return "tcp://" + bound }, nil)
}

// DialWithin connects over TCP, for a transport that lies within one: within makes its stream, and may wait for the peer until ctx is done.
func DialWithin(ctx context.Context, address, rawURL string, within func(net.Conn) (net.Conn, error)) (wire.Conn, error) {
	c, err := Dial(ctx, "tcp", address, rawURL)
	if err != nil {
		return nil, err
	}
	inner, err := within(watchHost(c, transport.DefaultPeerTimeout, false))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dial %s: %w", rawURL, err), c.Close())
	}
	return New(inner, peerName(c)), nil
}

func listenUnix(rawURL string) (wire.Listener, error) {
	path, err := SocketPath("unix", rawURL)
	if err != nil {
		return nil, err
	}
	l, err := ListenUnix(path)
	if err != nil {
		return nil, err
	}
	return &listener{Listener: l, url: transport.PathURL("unix", path), kept: new(KeptFiles)}, nil
}

// ListenWithin listens over TCP. url makes the URL of the listener from its host and port, and within the stream within each
// connection; nil: packets go over the connection itself. An Accept waits for within, and several may be under way.
func ListenWithin(address string, url func(bound string) string, within func(net.Conn) (net.Conn, error)) (wire.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; use a free port, or 0 for any", url(address), err)
	}
	tcp := &tcpListener{listener: listener{Listener: l, url: url(l.Addr().String())}, within: within}
	tcp.SetPeerTimeout(transport.DefaultPeerTimeout)
	return tcp, nil
}

// dialer returns the Dial of a transport whose addresses parse reads from a URL.
func dialer(network string, parse func(rawURL string) (string, error)) func(context.Context, string) (wire.Conn, error) {
	return func(ctx context.Context, rawURL string) (wire.Conn, error) {
		address, err := parse(rawURL)
		if err != nil {
			return nil, err
		}
		c, err := Dial(ctx, network, address, rawURL)
		if err != nil {
			return nil, err
		}
		if network == "unix" {
			name := peerName(c)
			return New(apart(movable(c), name, new(KeptFiles), false), name), nil
		}
		return New(watchHost(c, transport.DefaultPeerTimeout, true), peerName(c)), nil
	}
}

// Dial connects a socket, for a transport that begins with one. The URL is for errors.
func Dial(ctx context.Context, network, address, rawURL string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, &transport.AbsentError{URL: rawURL, Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", rawURL, err)
	}
	return c, nil
}

type listener struct {
	net.Listener
	url  string
	kept *KeptFiles // what clients have sent apart, and is sent on
}

func (l *listener) URL() string { return l.url }

func (l *listener) Accept() (wire.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, AcceptError(l.url, err)
	}
	name := peerName(c)
	return New(apart(movable(c), name, l.kept, true), name), nil
}

// tcpListener is the listener of TCP.
type tcpListener struct {
	listener
	within   func(net.Conn) (net.Conn, error) // nil: packets go over the connection itself
	patience atomic.Int64                     // in nanoseconds; 0: no end
}

// SetPeerTimeout is found by transport.Listener.
func (l *tcpListener) SetPeerTimeout(d time.Duration) { l.patience.Store(int64(d)) }

func (l *tcpListener) Accept() (wire.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, AcceptError(l.url, err)
	}
	watched := watchHost(c, time.Duration(l.patience.Load()), l.within == nil)
	if l.within == nil {
		return New(watched, peerName(c)), nil
	}
	inner, err := l.within(watched)
	if err != nil {
		return nil, AcceptError(l.url, err)
	}
	return New(inner, peerName(c)), nil
}

// peerName names the other side of a socket.
func peerName(c net.Conn) string {
	if unix, ok := c.(*net.UnixConn); ok {
		if pid := PeerPID(unix); pid > 0 {
			return fmt.Sprintf("unix pid %d", pid)
		}
		return "unix peer"
	}
	if addr := c.RemoteAddr(); addr != nil {
		return addr.Network() + " " + addr.String()
	}
	return "socket"
}

// AcceptError tells where an Accept failed, and what to do if this process has too many open files.
func AcceptError(rawURL string, err error) error {
	if errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("accept at %s: %w; raise the limit of open files (ulimit -n)", rawURL, err)
	}
	return fmt.Errorf("accept at %s: %w", rawURL, err)
}

func hostPort(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", fmt.Errorf("%q is no URL (%w); use tcp://host:port", rawURL, err)
	}
	if _, port, err := net.SplitHostPort(u.Host); err != nil || port == "" || u.Path != "" || u.Scheme != "tcp" {
		return "", fmt.Errorf("%q has no host and port, or more than these; use tcp://host:port", rawURL)
	}
	return u.Host, nil
}

// SocketPath returns the path of a socket from its URL, such as "unix:///run/x/s.sock". It refuses a path that the system
// would cut, or refuse without a reason.
func SocketPath(scheme, rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", fmt.Errorf("%q is no URL (%w); use %s:///path", rawURL, err, scheme)
	}
	path := filepath.FromSlash(u.Path)
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, `\`) // of unix:///C:/x
	}
	if u.Scheme != scheme || u.Host != "" || !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q has no absolute path; use %s:///path, with three slashes", rawURL, scheme)
	}
	limit := 107 // sockaddr_un has 108 bytes with the final zero, and 104 on the descendants of BSD
	switch runtime.GOOS {
	case "darwin", "freebsd", "netbsd", "openbsd", "dragonfly":
		limit = 103
	}
	if len(path) > limit {
		return "", fmt.Errorf("the socket path %q has %d bytes, and the system allows %d; use a shorter directory, "+
			"for example with TMPDIR=/tmp", path, len(path), limit)
	}
	return path, nil
}

// ListenUnix listens at the path of a unix socket, where only this user may connect, for a transport that begins with one.
// A socket file that a dead server left at the path is replaced; Close removes the file.
func ListenUnix(path string) (net.Listener, error) {
	config := net.ListenConfig{Control: private}
	l, err := config.Listen(context.Background(), "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := removeStale(path); err != nil {
			return nil, err
		}
		l, err = config.Listen(context.Background(), "unix", path)
	}
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; use a path in a directory that exists and is yours", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it would remove any file that has the path by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("make %s private: %w", path, err), l.Close(), os.Remove(path))
	}
	file, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen at %s: %w", path, err), l.Close())
	}
	return &unixListener{Listener: l, path: path, file: file}, nil
}

// removeStale removes the file of a socket whose server is dead.
func removeStale(path string) error {
	file, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", path, err)
	}
	if file.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket; use another path, or remove it", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		taken := fmt.Errorf("another server listens at %s; use another path, or end that server", path)
		return errors.Join(taken, c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s is in use: %w; use another path", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the socket of a dead server at %s: %w", path, err)
	}
	return nil
}

// A unixListener knows its socket file.
type unixListener struct {
	net.Listener
	path string
	file fs.FileInfo // when it was made
}

// Close stops listening, and removes the socket file if it is still the same.
func (s *unixListener) Close() error {
	var errs []error
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		errs = append(errs, os.Remove(s.path))
	}
	return errors.Join(append(errs, s.Listener.Close())...)
}
