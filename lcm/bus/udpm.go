package bus

import (
	"net"
	"sync"

	"golang.org/x/net/ipv4"

	"metasim/lcm/names"
)

// A udpm is UDP multicast.
type udpm struct {
	counters
	address names.Address
	options Options
	subs    subscriptions

	sending sync.Mutex
	sender  *sender
	orderer orderer
	closed  bool

	receiving sync.Mutex // guards socket
	socket    *net.UDPConn
	receiver  sync.WaitGroup
}

func openUDPM(a names.Address, o Options) (*udpm, error) {
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, err
	}
	u := &udpm{address: a, options: o}
	u.log, u.url = o.Log, a.URL
	p := ipv4.NewPacketConn(conn)
	if err = p.SetMulticastTTL(a.TTL); err == nil {
		err = p.SetMulticastLoopback(true) // the programs on this host are most of the audience
	}
	if err != nil {
		_ = conn.Close() // the first error is the one to tell
		return nil, err
	}
	u.sender = newSender(conn, p, a.Group, &u.counters)
	return u, nil
}

func (u *udpm) Publish(ms ...Message) error {
	u.sending.Lock()
	defer u.sending.Unlock()
	if u.closed {
		return ErrClosed
	}
	var first error
	for len(ms) > 0 {
		n := min(len(ms), atOnce)
		for _, i := range u.orderer.order(ms[:n]) {
			if m := &ms[i]; u.fits(m, &first) {
				u.sender.add(m)
			}
		}
		ms = ms[n:]
	}
	u.sender.flush()
	return first
}

func (u *udpm) Subscribe(patterns ...string) (*Subscription, error) {
	u.receiving.Lock()
	defer u.receiving.Unlock()
	s, err := u.subs.add(patterns, u.options.Queue)
	if err != nil || u.socket != nil {
		return s, err
	}
	if err := u.listen(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (u *udpm) Lossy() bool { return true }

func (u *udpm) Close() error {
	u.sending.Lock()
	defer u.sending.Unlock()
	if u.closed {
		return nil
	}
	u.closed = true
	u.subs.close()
	err := u.sender.conn.Close()
	u.receiving.Lock()
	defer u.receiving.Unlock()
	if u.socket != nil {
		if e := u.socket.Close(); err == nil {
			err = e
		}
		u.receiver.Wait()
	}
	return err
}
