package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"metasim/wire/transport/all"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rawPingPong is the floor of a round trip: 64 bytes there and back between two processes, nothing else.
func rawPingPong() (list []workload) {
	for _, transport := range transports() {
		if !hasFloor(transport) {
			continue
		}
		list = append(list, workload{
			name: "raw ping-pong", params: Params{"transport": transport, "size": 64}, unit: "round trips/s", first: 200,
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				return h.pingPongRaw(ctx, transport, 64, amount)
			},
		})
	}
	return list
}

func (h *harness) pingPongRaw(ctx context.Context, transport string, size, amount int) (s sample, err error) {
	err = h.withRaw(ctx, transport, 1, job{Kind: echoJob, Size: size, Count: 1}, func(streams []io.ReadWriteCloser) error {
		message := make([]byte, size)
		began := time.Now()
		for range amount {
			if err := exchange(streams[0], message); err != nil {
				return err
			}
		}
		s = rate(float64(amount), time.Since(began))
		return nil
	})
	return s, err
}

// exchange writes a message and reads one of the same size.
func exchange(s io.ReadWriter, message []byte) error {
	if _, err := s.Write(message); err != nil {
		return err
	}
	_, err := io.ReadFull(s, message)
	return err
}

// withRaw starts processes that do a job, and calls f with their streams, j.Count from each process. The first byte on a stream
// only shows that it works.
func (h *harness) withRaw(ctx context.Context, transport string, processes int, j job, f func([]io.ReadWriteCloser) error) error {
	l, err := listenRaw(transport)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = l.Close() // wakes the accept below; a listener that is closed twice says so
	})
	defer stop()
	var all processGroup
	j.URL = l.url()
	for range processes {
		if err := h.start(ctx, &all, j); err != nil {
			return errors.Join(err, l.Close(), all.wait())
		}
	}
	var streams []io.ReadWriteCloser
	for range processes * j.Count {
		s, err := l.accept(ctx)
		if err == nil {
			_, err = io.ReadFull(s, make([]byte, 1))
		}
		if err != nil {
			return errors.Join(err, l.Close(), all.wait())
		}
		streams = append(streams, s)
	}
	err = f(streams)
	for _, s := range streams {
		err = errors.Join(err, s.Close())
	}
	err = errors.Join(err, all.wait())
	return errors.Join(err, l.Close())
}

// echoRaw returns what comes.
func echoRaw(ctx context.Context, j job) error {
	s, err := dialRaw(ctx, j.URL)
	if err != nil {
		return err
	}
	message := make([]byte, max(1, j.Size))
	if _, err := s.Write(message[:1]); err != nil {
		return err
	}
	for {
		if _, err := io.ReadFull(s, message); err != nil {
			_ = s.Close()
			return nil // the other side has measured enough, and closed the connection
		}
		if _, err := s.Write(message); err != nil {
			_ = s.Close()
			return nil
		}
	}
}

func listenRaw(transport string) (rawListener, error) {
	switch transport {
	case "shm":
		return listenRawSHM()
	case "quic":
		return listenRawQUIC()
	case "tcp":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		return &netListener{l, "tcp://" + l.Addr().String(), ""}, nil
	case "unix":
		dir, err := os.MkdirTemp("", "metasim-bench-")
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return &netListener{l, "unix://" + filepath.ToSlash(path), dir}, nil
	}
	return nil, fmt.Errorf("there is no raw transport %q", transport)
}

type netListener struct {
	net.Listener
	at, dir string
}

func (l *netListener) url() string { return l.at }

func (l *netListener) accept(context.Context) (io.ReadWriteCloser, error) { return l.Accept() }

func (l *netListener) Close() error {
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if l.dir != "" {
		err = errors.Join(err, os.RemoveAll(l.dir))
	}
	return err
}

func dialRaw(ctx context.Context, at string) (io.ReadWriteCloser, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	switch u.Scheme {
	case "shm":
		return dialRawSHM(u.Path)
	case "quic":
		return dialRawQUIC(ctx, u.Host)
	case "unix":
		return d.DialContext(ctx, "unix", filepath.FromSlash(strings.TrimPrefix(at, "unix://")))
	}
	return d.DialContext(ctx, u.Scheme, u.Host)
}

// hasFloor reports whether listenRaw knows a transport. A new one is measured without a floor until then.
func hasFloor(transport string) bool {
	return slices.Contains([]string{"unix", "tcp", "quic", "shm"}, transport)
}

// transports are those between processes that this system has.
func transports() []string {
	return slices.DeleteFunc(all.Table().Schemes(), func(scheme string) bool { return scheme == "shm" && !sharedMemory })
}
