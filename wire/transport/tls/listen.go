package tls

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"metasim/internal/descriptors"
	"metasim/wire"
	"metasim/wire/transport/secure"
	"metasim/wire/transport/stream"
)

const (
	// mostHands is how many peers shake hands at a time, or an eighth of the files that may be open if that is less. Others wait in the queue of the system.
	mostHands = 128
	// handTime is how long that may take, and crowdTime where half of those places are taken: peers that say nothing must not keep others out
	// for long, and a crowd of clients on a busy machine takes its time.
	handTime  = 10 * time.Second
	crowdTime = 2 * time.Second
)

// errHand says that a peer did not shake hands. It is not told to anybody: such a peer has not said what it wants.
var errHand = errors.New("no TLS")

// A listener shakes hands with peers before they are accepted.
type listener struct {
	wire.Listener // of TCP, with TLS within
	hands         *hands
	arrived       chan arrival
	closed        chan struct{}
	closing       sync.Once
	working       sync.WaitGroup
}

// An arrival is what an Accept returns.
type arrival struct {
	conn wire.Conn
	err  error
}

func listen(url string, s *secure.Server) (wire.Listener, error) {
	hostport, _, _, err := secure.ParseURL(scheme, url)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if s, err = secure.NewServer(secure.Files{}); err != nil {
			return nil, err
		}
	}
	h := &hands{config: s.TLS(), most: min(mostHands, max(8, descriptors.Limit()/8)), open: map[net.Conn]struct{}{}}
	inner, err := stream.ListenWithin(hostport, func(bound string) string { return s.URL(scheme, bound) }, h.shake)
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: inner, hands: h, arrived: make(chan arrival), closed: make(chan struct{})}
	for range h.most {
		l.working.Go(l.accept)
	}
	return l, nil
}

// hands are the handshakes that are under way.
type hands struct {
	config *tls.Config
	most   int

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

// shake makes TLS of a connection.
func (h *hands) shake(c net.Conn) (net.Conn, error) {
	patience, ok := h.begin(c)
	if !ok {
		return nil, errors.Join(errHand, c.Close())
	}
	inner := tls.Server(c, h.config)
	err := errors.Join(c.SetDeadline(time.Now().Add(patience)), inner.Handshake(), c.SetDeadline(time.Time{}))
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.open, c); err != nil {
		return nil, errors.Join(errHand, c.Close())
	}
	return conn{inner}, nil
}

// begin returns how long a peer may take; not ok: the listener is closed.
func (h *hands) begin(c net.Conn) (patience time.Duration, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[c] = struct{}{}
	if len(h.open) > h.most/2 {
		return crowdTime, !h.closed
	}
	return handTime, !h.closed
}

// close ends the handshakes: nobody accepts these peers any more.
func (h *hands) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for c := range h.open {
		_ = c.Close() // its handshake fails, and tells nobody
	}
}

// accept is a goroutine. It shakes hands with one peer after the other.
func (l *listener) accept() {
	for {
		c, err := l.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, errHand):
			continue
		}
		select {
		case l.arrived <- arrival{c, err}:
		case <-l.closed:
			if c != nil {
				_ = c.Close() // nobody has accepted it
			}
		}
	}
}

func (l *listener) Accept() (wire.Conn, error) {
	select {
	case a := <-l.arrived:
		return a.conn, a.err
	case <-l.closed:
		return nil, fmt.Errorf("accept at %s: %w", l.URL(), net.ErrClosed)
	}
}

// SetPeerTimeout is found by transport.Listener.
func (l *listener) SetPeerTimeout(d time.Duration) {
	l.Listener.(interface{ SetPeerTimeout(time.Duration) }).SetPeerTimeout(d)
}

func (l *listener) Close() (err error) {
	l.closing.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
		l.hands.close()
		l.working.Wait()
	})
	return err
}
