package quic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/secure"
)

const (
	// backlog is how many connections may wait for their Accept.
	backlog = 4096
	// maxVisitors limits the connections, open or being opened, whose peers have not shown the token of the run. Further peers are
	// refused before they cost memory, and try again. From manyVisitors on, a peer must first prove that its address is its own.
	maxVisitors  = 256
	manyVisitors = 32
	// firstBytes is for how long the first bytes of a new connection may take: they are sent again and again by a network that carries nothing for
	// some seconds, ever more seldom.
	firstBytes = 8 * time.Second
	// acceptors is how many goroutines accept connections from quic-go. It queues only 32 connections and refuses the rest
	// after the handshake, too late for a client to try again. A goroutine that waits gets a connection at once, even while
	// the processors are busy with handshakes.
	acceptors = 512
)

// listenURL listens with a certificate made for the listener, or with that of a server.
func listenURL(url string, s *secure.Server) (wire.Listener, error) {
	hostport, _, _, err := secure.ParseURL("quic", url)
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
	l, err := listenOn(udp, s)
	if err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	l.asking = make(chan struct{}, maxAsked)
	return l, nil
}

// listenOn listens on a packet connection, which is closed with the listener and the last of its connections.
func listenOn(packets net.PacketConn, s *secure.Server) (_ *listener, err error) {
	if s == nil {
		if s, err = secure.NewServer(secure.Files{}); err != nil {
			return nil, err
		}
	}
	quiet()
	l := &listener{url: s.URL("quic", packets.LocalAddr().String()), arrived: make(chan arrival, backlog)}
	l.SetPeerTimeout(transport.DefaultPeerTimeout)
	reset, err := s.ResetKey()
	if err != nil {
		return nil, err
	}
	endpoint := &quicgo.Transport{
		Conn: packets, StatelessResetKey: (*quicgo.StatelessResetKey)(&reset), ConnContext: l.admit, VerifySourceAddress: func(net.Addr) bool { return l.visitors.Load() >= manyVisitors },
	}
	first := config(1, never)
	first.GetConfigForClient = func(*quicgo.ClientInfo) (*quicgo.Config, error) {
		return config(1, time.Duration(l.patience.Load())), nil
	}
	l.socket = &socket{transport: endpoint, users: 1}
	if l.quic, err = endpoint.Listen(s.TLS(), first); err != nil {
		return nil, errors.Join(fmt.Errorf("listen at %s: %w", packets.LocalAddr(), err), endpoint.Close())
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
	arrived chan arrival // closed when all acceptors have ended, as the listener is closed
	closing sync.Once

	patience atomic.Int64  // in nanoseconds
	visitors atomic.Int32  // connections whose peers have not shown the token
	asking   chan struct{} // see conn.watch; nil: the peers have no kernel
}

// An arrival is a connection with its stream, of which the first bytes have come.
type arrival struct {
	quic   *quicgo.Conn
	stream *quicgo.Stream
}

// errCrowded refuses a connection.
var errCrowded = errors.New("too many peers have not said Hello")

// admit counts a new connection as that of a visitor, until the peer is trusted or the connection ends.
func (l *listener) admit(ctx context.Context, _ *quicgo.ClientInfo) (context.Context, error) {
	if l.visitors.Add(1) > maxVisitors {
		l.visitors.Add(-1)
		return nil, errCrowded
	}
	trust := sync.OnceFunc(func() { l.visitors.Add(-1) })
	context.AfterFunc(ctx, trust)
	return context.WithValue(ctx, trustKey{}, trust), nil
}

// SetPeerTimeout is found by transport.Listener.
func (l *listener) SetPeerTimeout(d time.Duration) { l.patience.Store(int64(cmp.Or(d, never))) }

func (l *listener) URL() string { return l.url }

// accept moves connections from quic-go's short queue to arrived. A peer that says nothing is not moved.
func (l *listener) accept() {
	for {
		q, err := l.quic.Accept(context.Background())
		if err != nil {
			return // the listener was closed; Accept returns the error
		}
		ctx, cancel := context.WithTimeout(context.Background(), firstBytes)
		s, err := q.AcceptStream(ctx)
		cancel()
		if err != nil {
			_ = q.CloseWithError(0, "no Hello came") // it may have ended
			continue
		}
		select {
		case l.arrived <- arrival{q, s}:
		default:
			_ = q.CloseWithError(0, "too many connections wait") // the client is refused in any case
		}
	}
}

func (l *listener) Accept() (wire.Conn, error) {
	a, ok := <-l.arrived
	if !ok || !l.socket.use() {
		return nil, fmt.Errorf("accept at %s: %w", l.url, net.ErrClosed)
	}
	c := &conn{quic: a.quic, stream: a.stream, release: l.socket.release}
	if l.asking != nil {
		go c.watch(l.asking)
	}
	return c.carry(), nil
}

// Close stops listening, and refuses the connections that were not accepted. The UDP socket stays open until the last of the
// accepted ones is closed.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() {
		err = l.quic.Close()
		for a := range l.arrived {
			err = errors.Join(err, a.quic.CloseWithError(0, "the server is closing"))
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
