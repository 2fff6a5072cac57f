package quic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	quicgo "github.com/quic-go/quic-go"

	"metasim/wire"
)

const (
	// backlog is how many connections may wait for their Accept.
	backlog = 4096
	// acceptors is how many goroutines accept connections from quic-go. It queues only 32 connections and refuses the rest
	// after the handshake, too late for a client to try again. A goroutine that waits gets a connection at once, even while
	// the processors are busy with handshakes.
	acceptors = 512
)

// listenURL listens with a certificate made for the run.
func listenURL(url string) (wire.Listener, error) {
	hostport, _, _, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	addr, err := net.ResolveUDPAddr("udp", hostport)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; use an address of this machine", url, err)
	}
	udp, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; use a free port, or 0 for any", url, err)
	}
	l, err := listenOn(udp)
	if err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	return l, nil
}

// listenOn listens on a packet connection, which is closed with the listener and the last of its connections.
func listenOn(packets net.PacketConn) (*listener, error) {
	certificate, pin, err := certificate()
	if err != nil {
		return nil, err
	}
	quiet()
	transport := &quicgo.Transport{Conn: packets}
	quic, err := transport.Listen(serverTLS(certificate), config(1))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen at %s: %w", packets.LocalAddr(), err), transport.Close())
	}
	l := &listener{
		quic: quic, socket: &socket{transport: transport, users: 1},
		url: fmt.Sprintf("quic://%s?sha256=%x", packets.LocalAddr(), pin), arrived: make(chan *quicgo.Conn, backlog),
	}
	var accepting sync.WaitGroup
	for range acceptors {
		accepting.Go(l.accept)
	}
	go func() {
		accepting.Wait()
		close(l.arrived)
	}()
	return l, nil
}

type listener struct {
	quic    *quicgo.Listener
	socket  *socket
	url     string
	arrived chan *quicgo.Conn // closed when all acceptors have ended, as the listener is closed
	closing sync.Once
}

func (l *listener) URL() string { return l.url }

// accept moves connections from quic-go's short queue to arrived.
func (l *listener) accept() {
	for {
		q, err := l.quic.Accept(context.Background())
		if err != nil {
			return // the listener was closed; Accept returns the error
		}
		select {
		case l.arrived <- q:
		default:
			_ = q.CloseWithError(0, "too many connections wait") // the client is refused in any case
		}
	}
}

func (l *listener) Accept() (wire.Conn, error) {
	q, ok := <-l.arrived
	if !ok || !l.socket.use() {
		return nil, fmt.Errorf("accept at %s: %w", l.url, net.ErrClosed)
	}
	open := func() (*quicgo.Stream, error) { return q.AcceptStream(context.Background()) }
	return newConn(q, open, l.socket.release).carry(), nil
}

// Close stops listening, and refuses the connections that were not accepted. The UDP socket stays open until the last of the
// accepted ones is closed.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() {
		err = l.quic.Close()
		for q := range l.arrived {
			err = errors.Join(err, q.CloseWithError(0, "the server is closing"))
		}
		err = errors.Join(err, l.socket.release())
	})
	return err
}

// Dropped returns how many datagrams the system dropped because the receive buffer was full, as far as it tells. It is
// known when the listener and all its connections are closed.
func (l *listener) Dropped() uint64 {
	l.socket.mu.Lock()
	defer l.socket.mu.Unlock()
	return l.socket.dropped
}

// A socket is a UDP socket with several users. The last one to release it closes it.
type socket struct {
	transport *quicgo.Transport

	mu      sync.Mutex
	users   int
	dropped uint64 // when it was closed
}

// use adds a user. It is false if the socket is closed already.
func (s *socket) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return false
	}
	s.users++
	return true
}

func (s *socket) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	s.dropped = dropped(s.transport.Conn)
	return errors.Join(s.transport.Close(), s.transport.Conn.Close())
}
