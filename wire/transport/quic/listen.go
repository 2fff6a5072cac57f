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

// backlog is how many connections may wait for their Accept.
const backlog = 4096

// takers is how many goroutines take connections from quic-go. It holds 32 itself and refuses the rest, after the
// handshake, so that a client learns of it too late to try again; to a goroutine that waits it hands one over at once,
// however busy the machine is with handshakes.
const takers = 512

// listenURL listens at "quic://host:port", where port 0 picks a free one, with a certificate made for the run.
func listenURL(url string) (wire.Listener, error) {
	hostport, _, _, err := address(url)
	if err != nil {
		return nil, err
	}
	addr, err := net.ResolveUDPAddr("udp", hostport)
	if err != nil {
		return nil, fmt.Errorf("quic: listen at %s: %w; use an address of this machine", url, err)
	}
	udp, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("quic: listen at %s: %w; use a free port, or 0 for any", url, err)
	}
	l, err := listenOn(udp)
	if err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	return l, nil
}

// listenOn listens on a packet connection, and closes it when the last connection is closed.
func listenOn(packets net.PacketConn) (*listener, error) {
	certificate, pin, err := certificate()
	if err != nil {
		return nil, err
	}
	transport := &quicgo.Transport{Conn: packets}
	quic, err := transport.Listen(serverTLS(certificate), config(1))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("quic: listen at %s: %w", packets.LocalAddr(), err), transport.Close())
	}
	l := &listener{
		quic: quic, socket: &socket{transport: transport, users: 1},
		url:     fmt.Sprintf("quic://%s?sha256=%x", packets.LocalAddr(), pin),
		arrived: make(chan *quicgo.Conn, backlog), done: make(chan struct{}),
	}
	var taking sync.WaitGroup
	for range takers {
		taking.Go(l.take)
	}
	go func() {
		taking.Wait()
		close(l.arrived)
	}()
	return l, nil
}

type listener struct {
	quic    *quicgo.Listener
	socket  *socket
	url     string
	arrived chan *quicgo.Conn
	closing sync.Once
	done    chan struct{} // closed by Close
}

func (l *listener) URL() string { return l.url }

// take keeps quic-go's short queue empty.
func (l *listener) take() {
	for {
		q, err := l.quic.Accept(context.Background())
		if err != nil {
			return // the listener was closed; Accept tells
		}
		select {
		case l.arrived <- q:
		default:
			_ = q.CloseWithError(0, "too many connections wait") // to somebody who does not get in either way
		}
	}
}

func (l *listener) Accept() (wire.Conn, error) {
	select {
	case <-l.done:
		return nil, l.over()
	default:
	}
	select {
	case <-l.done:
		return nil, l.over()
	case q, ok := <-l.arrived:
		if !ok || !l.socket.use() {
			return nil, l.over()
		}
		return newConn(q, func() (*quicgo.Stream, error) { return acceptStream(q) }, l.socket.release), nil
	}
}

func (l *listener) over() error { return fmt.Errorf("quic: accept at %s: %w", l.url, net.ErrClosed) }

// Close stops listening. Who was not accepted yet is refused; the UDP socket lives as long as its connections.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.done)
		err = l.quic.Close()
		for q := range l.arrived {
			err = errors.Join(err, q.CloseWithError(0, "the server is closing"))
		}
		err = errors.Join(err, l.socket.release())
	})
	return err
}

// A socket is a UDP socket with several users; the last one closes it.
type socket struct {
	transport *quicgo.Transport

	mu    sync.Mutex
	users int
}

// use adds a user, unless the socket is closed already.
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
	return errors.Join(s.transport.Close(), s.transport.Conn.Close())
}
