package bus

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"metasim/lcm/names"
)

const (
	maxPeers    = 256 // connections at a time
	maxPatterns = 256 // subscriptions of one connection
)

// A tcpqServer is the server of a tcpq network, and a bus on it.
type tcpqServer struct {
	counters
	options  Options
	listener net.Listener
	subs     subscriptions
	work     sync.WaitGroup

	mu     sync.Mutex
	peers  []*session
	closed bool
}

func serveTCPQ(a names.Address, o Options) (*tcpqServer, error) {
	listener, err := net.Listen("tcp", a.Where)
	if err != nil {
		return nil, err
	}
	s := &tcpqServer{options: o, listener: listener}
	s.log, s.url = o.Log, s.URL()
	s.work.Go(s.accept)
	return s, nil
}

func (s *tcpqServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.log.Warn("the LCM network accepts no more programs", "bus", s.url, "why", err)
			}
			return
		}
		if p := s.admit(conn); p != nil {
			s.work.Go(func() { s.read(p) })
			s.work.Go(func() { _ = p.write(serverMagic, stayTime) }) // its error is that of read
		}
	}
}

// admit accepts a connection, or closes it if there are too many.
func (s *tcpqServer) admit(conn net.Conn) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.peers) >= maxPeers {
		_ = conn.Close() // its error does not matter
		return nil
	}
	p := newSession(conn, s.options.Queue)
	s.peers = append(s.peers, p)
	return p
}

// read reads the frames of a peer.
func (s *tcpqServer) read(p *session) {
	err := p.read(clientMagic, s.options.Queue, func(f *frame) error { return s.receive(p, f) })
	s.mu.Lock()
	s.peers = slices.DeleteFunc(s.peers, func(q *session) bool { return p == q })
	s.mu.Unlock()
	if errors.Is(err, errNotLCM) {
		s.refused.Add(1)
		s.log.Info("a program that does not use LCM's tcpq was disconnected", "bus", s.url, "peer", p.conn.RemoteAddr(), "why", err)
	}
	p.cut()
}

// receive processes a frame of a peer.
func (s *tcpqServer) receive(p *session, f *frame) error {
	switch f.kind {
	case framePublish:
		s.relay(Message{Channel: f.text, Payload: f.payload}, f.dropped)
		return nil
	case frameSubscribe:
		expr, err := compile(f.text)
		if err != nil {
			s.refused.Add(1) // the protocol has no answer for it
			s.log.Info("a program subscribed to a pattern that is no regular expression", "bus", s.url, "why", err)
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(p.patterns) == maxPatterns {
			return fmt.Errorf("%w: more than %d subscriptions", errNotLCM, maxPatterns)
		}
		p.patterns = append(p.patterns, expr)
	case frameUnsubscribe:
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.IndexFunc(p.patterns, func(q *pattern) bool { return q.Text() == f.text }); i >= 0 {
			p.patterns = slices.Delete(p.patterns, i, i+1)
		}
	}
	return nil
}

// relay sends a message of a peer to all subscribers, that peer included.
func (s *tcpqServer) relay(m Message, dropped bool) {
	switch {
	case names.CheckChannel(m.Channel) != nil:
		s.refused.Add(1)
	case dropped:
		s.dropped.Add(1)
	default:
		s.received.Add(1)
		s.mu.Lock()
		s.spread(&m)
		s.mu.Unlock()
		s.dropped.Add(s.subs.deliver(m))
	}
}

// spread queues a message for the peers that subscribe to it, and reports whether any does. The caller holds the lock.
func (s *tcpqServer) spread(m *Message) (heard bool) {
	var frame []byte // the same for all
	for _, p := range s.peers {
		if !p.patterns.match(m.Channel) {
			continue
		}
		if frame == nil {
			frame = newPublish(m)
		}
		if !p.put(frame) {
			s.dropped.Add(1)
		}
	}
	return frame != nil
}

func (s *tcpqServer) Publish(ms ...Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	var first error
	for i := range ms {
		m := &ms[i]
		if !s.fits(m, &first) {
			continue
		}
		s.sent.Add(1)
		if !s.spread(m) {
			s.unheard.Add(1)
		}
		if !s.options.OthersOnly && s.subs.wants(m.Channel) {
			s.received.Add(1)
			owned := *m
			owned.Payload = bytes.Clone(m.Payload)
			s.dropped.Add(s.subs.deliver(owned))
		}
	}
	return first
}

func (s *tcpqServer) Subscribe(patterns ...string) (*Subscription, error) {
	return s.subs.add(patterns, s.options.Queue)
}

func (s *tcpqServer) Subscribers() (n int, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		if len(p.patterns) > 0 {
			n++
		}
	}
	return n, true
}

func (s *tcpqServer) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for _, p := range s.peers {
		p.end()
	}
	s.mu.Unlock()
	s.subs.close()
	err := s.listener.Close()
	s.work.Wait()
	return err
}

// URL returns the address of the server, with the port that the system chose where the given one was 0.
func (s *tcpqServer) URL() string { return "tcpq://" + s.listener.Addr().String() }
