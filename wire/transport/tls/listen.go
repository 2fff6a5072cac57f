package tls

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
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
	hands := min(mostHands, max(8, descriptors.Limit()/8))
	inner, err := stream.ListenWithin(hostport, func(bound string) string { return s.URL(scheme, bound) }, shaker(s.TLS(), hands))
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: inner, arrived: make(chan arrival), closed: make(chan struct{})}
	for range hands {
		l.working.Go(l.accept)
	}
	return l, nil
}

// shaker returns what makes TLS of a connection.
func shaker(config *tls.Config, hands int) func(net.Conn) (net.Conn, error) {
	var busy atomic.Int32
	return func(c net.Conn) (net.Conn, error) {
		defer busy.Add(-1)
		patience := handTime
		if int(busy.Add(1)) > hands/2 {
			patience = crowdTime
		}
		inner := tls.Server(c, config)
		err := errors.Join(c.SetDeadline(time.Now().Add(patience)), inner.Handshake(), c.SetDeadline(time.Time{}))
		if err != nil {
			return nil, errors.Join(errHand, c.Close())
		}
		return conn{inner}, nil
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
		l.working.Wait() // at most as long as a handshake
	})
	return err
}
