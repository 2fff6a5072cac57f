package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"metasim/wire/transport/all"
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
		s, err = clocked(amount, 1, func() error { return exchange(streams[0], message) })
		return err
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

// echo returns what comes.
func echo(s io.ReadWriter, message []byte) error {
	if _, err := io.ReadFull(s, message); err != nil {
		return err
	}
	_, err := s.Write(message)
	return err
}

// withRaw starts processes that do a job, and calls f with their streams, j.Count from each process. The first byte on a stream
// only shows that it works.
func (h *harness) withRaw(ctx context.Context, transport string, processes int, j job, f func([]io.ReadWriteCloser) error) (err error) {
	dir, err := os.MkdirTemp("", "metasim-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l, err := rawTransports[transport].listen(dir)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = l.close() // wakes the accept below; a listener that is closed twice says so
	})
	defer stop()
	var all processGroup
	var streams []io.ReadWriteCloser
	defer func() {
		for _, s := range streams {
			err = errors.Join(err, s.Close())
		}
		if e := l.close(); !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
		err = errors.Join(err, all.wait())
	}()
	j.URL = transport + "://" + l.address
	for range processes {
		if err := h.start(ctx, &all, j); err != nil {
			return err
		}
	}
	for range processes * j.Count {
		s, err := l.accept(ctx)
		if err != nil {
			return err
		}
		streams = append(streams, s)
		if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
			return err
		}
	}
	return f(streams)
}

// rawClients opens the connections of one process, and takes turns on each until the other side closes it: it has measured
// enough then.
func rawClients(ctx context.Context, j job, turn func(s io.ReadWriter, message []byte) error) error {
	transport, address, _ := strings.Cut(j.URL, "://")
	return concurrently(j.Count, func(int) error {
		s, err := rawTransports[transport].dial(ctx, address)
		if err != nil {
			return err
		}
		if _, err := s.Write(make([]byte, 1)); err != nil {
			return err
		}
		message := make([]byte, j.Size)
		for err == nil {
			err = turn(s, message)
		}
		_ = s.Close() // the other side has closed it already
		return nil
	})
}

// rawTransports are the floors by transport. A transport that is not here is measured without a floor.
var rawTransports = map[string]*rawTransport{
	"unix": rawSocket("unix", func(dir string) string { return filepath.Join(dir, "s") }),
	"tcp":  rawSocket("tcp", func(string) string { return "127.0.0.1:0" }),
	"quic": {listenRawQUIC, dialRawQUIC},
	"shm":  sharedMemory,
}

func hasFloor(transport string) bool { return rawTransports[transport] != nil }

// rawSocket is a transport of package net.
func rawSocket(network string, address func(dir string) string) *rawTransport {
	listen := func(dir string) (*rawListener, error) {
		l, err := net.Listen(network, address(dir))
		if err != nil {
			return nil, err
		}
		accept := func(context.Context) (io.ReadWriteCloser, error) { return l.Accept() }
		return &rawListener{l.Addr().String(), accept, l.Close}, nil
	}
	return &rawTransport{listen, func(ctx context.Context, address string) (io.ReadWriteCloser, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
}

// transports are those between processes that this system has.
func transports() []string {
	return slices.DeleteFunc(all.Table().Schemes(), func(scheme string) bool { return scheme == "shm" && sharedMemory == nil })
}
