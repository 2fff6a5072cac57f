package stream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"metasim/wire"
	"metasim/wire/transport"
)

func listenURL(url string) (wire.Listener, error) {
	network, addr, err := address(url)
	if err != nil {
		return nil, err
	}
	if network == "unix" {
		l, err := ListenUnix(addr)
		if err != nil {
			return nil, err
		}
		return &listener{Listener: l, url: transport.PathURL("unix", addr)}, nil
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		return nil, fmt.Errorf("stream: listen at %s: %w; use a free port, or 0 for any", url, err)
	}
	return &listener{Listener: l, url: "tcp://" + l.Addr().String()}, nil
}

// Unix is the transport of "unix:///path", where only this user may connect.
func Unix() transport.Transport {
	return transport.Transport{Scheme: "unix", Private: true, Listen: listenURL, Dial: dialURL}
}

// TCP is the transport of "tcp://host:port", where port 0 picks a free one. Anybody who reaches the port may connect:
// let it be a local one, and check the token.
func TCP() transport.Transport {
	return transport.Transport{Scheme: "tcp", Listen: listenURL, Dial: dialURL}
}

// ListenUnix listens at the path of a unix socket, where only this user may connect. It is for a transport that meets
// its peers there. What a dead server left at the path is replaced; Close removes the file.
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
		return nil, fmt.Errorf("stream: listen at %s: %w; use a path in a directory that exists and is yours", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it would remove whatever has the name by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("stream: make %s private: %w", path, err), l.Close(), os.Remove(path))
	}
	file, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stream: listen at %s: %w", path, err), l.Close())
	}
	return &socket{Listener: l, path: path, file: file}, nil
}

// removeStale removes a socket file that nobody listens on any more.
func removeStale(path string) error {
	file, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("stream: listen at %s: %w", path, err)
	}
	if file.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("stream: %s is there and is no socket; use another path, or remove it", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		taken := fmt.Errorf("stream: somebody listens at %s; use another path, or end that server", path)
		return errors.Join(taken, c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("stream: %s is in use: %w; use another path", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("stream: remove what a dead server left at %s: %w", path, err)
	}
	return nil
}

type listener struct {
	net.Listener
	url string
}

func (l *listener) URL() string { return l.url }

func (l *listener) Accept() (wire.Conn, error) {
	c, err := l.Listener.Accept()
	if errors.Is(err, syscall.EMFILE) {
		return nil, fmt.Errorf("stream: accept at %s: %w; raise the limit of open files (ulimit -n)", l.url, err)
	}
	if err != nil {
		return nil, fmt.Errorf("stream: accept at %s: %w", l.url, err)
	}
	return New(c), nil
}

// A socket is a unix listener that knows its file.
type socket struct {
	net.Listener
	path string
	file fs.FileInfo // as it was made
}

// Close stops listening, and removes the socket file if it is still the one that was made.
func (s *socket) Close() error {
	var errs []error
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		errs = append(errs, os.Remove(s.path))
	}
	return errors.Join(append(errs, s.Listener.Close())...)
}
