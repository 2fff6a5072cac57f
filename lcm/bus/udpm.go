package bus

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/net/ipv4"

	"metasim/lcm/names"
)

const (
	maxDatagram   = 1 << 16
	readAtOnce    = 16      // datagrams read with one call
	defaultBuffer = 2 << 20 // bytes of the socket's receive buffer, if the system allows; its own default loses more
)

// A udpm is a bus over UDP multicast.
type udpm struct {
	counters
	address names.Address
	options Options
	subs    subscriptions

	sending sync.Mutex
	sender  *sender
	orderer orderer
	told    bool // that listeners lose datagrams
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
		err = p.SetMulticastLoopback(true) // most receivers are programs on this host
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
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
	for part := range slices.Chunk(ms, atOnce) {
		for _, i := range u.orderer.order(part) {
			if m := &part[i]; u.fits(m, &first) {
				u.sender.add(m)
			}
		}
	}
	u.sender.flush()
	u.overflows()
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
		u.subs.remove(s)
		return nil, err
	}
	return s, nil
}

func (u *udpm) Lossy() bool { return true }

func (u *udpm) Subscribers() (n int, known bool) {
	u.sending.Lock()
	defer u.sending.Unlock()
	u.sender.room.look()
	n = len(u.sender.room.known)
	u.receiving.Lock()
	defer u.receiving.Unlock()
	if u.socket != nil && n > 0 {
		n--
	}
	return n, u.sender.room.path != ""
}

func (u *udpm) Stats() Stats {
	u.sending.Lock()
	defer u.sending.Unlock()
	if !u.closed {
		u.sender.room.look()
		u.overflows()
	}
	s := u.counters.Stats()
	s.Overflow = u.sender.room.dropped
	return s
}

// overflows logs once that programs lose datagrams, and what helps.
func (u *udpm) overflows() {
	if u.sender.room.dropped == 0 || u.told {
		return
	}
	u.told = true
	u.log.Warn("programs on this host lose datagrams of the LCM network, because their receive buffers are full; "+OverflowRemedy, "bus", u.url)
}

func (u *udpm) Close() error {
	u.sending.Lock()
	defer u.sending.Unlock()
	if u.closed {
		return nil
	}
	u.closed = true
	u.sender.room.look()
	u.overflows()
	u.subs.close()
	err := u.sender.conn.Close()
	u.receiving.Lock()
	defer u.receiving.Unlock()
	if u.socket != nil {
		err = errors.Join(err, u.socket.Close())
		u.receiver.Wait()
	}
	return err
}

// listen begins to receive.
func (u *udpm) listen() error {
	conn, err := net.ListenMulticastUDP("udp4", nil, net.UDPAddrFromAddrPort(u.address.Group))
	if err != nil {
		return withRoute(err)
	}
	size := cmp.Or(u.address.Buffer, defaultBuffer)
	if forceBuffer(conn, size) != nil { // only root may have more than the system allows
		if err := conn.SetReadBuffer(size); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	p := ipv4.NewPacketConn(conn)
	// The socket receives every group on its port. If the system does not tell the group of a datagram, LCM messages of
	// another group on the same port are received too.
	hasGroup := p.SetControlMessage(ipv4.FlagDst, true) == nil
	own, err := u.self()
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	u.socket = conn
	u.receiver.Go(func() { u.receive(p, hasGroup, own) })
	return nil
}

// self returns the senders whose datagrams are left out: the port from which this bus sends, at any address of this host.
func (u *udpm) self() (map[netip.AddrPort]bool, error) {
	if !u.options.OthersOnly {
		return nil, nil
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	port := netip.MustParseAddrPort(u.sender.conn.LocalAddr().String()).Port()
	// A host with only a loopback address sends from the unspecified address.
	own := map[netip.AddrPort]bool{netip.AddrPortFrom(netip.IPv4Unspecified(), port): true}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[netip.AddrPortFrom(prefix.Addr(), port)] = true
		}
	}
	return own, nil
}

// receive reads datagrams until the socket is closed.
func (u *udpm) receive(p *ipv4.PacketConn, hasGroup bool, own map[netip.AddrPort]bool) {
	ms := make([]ipv4.Message, readAtOnce)
	for i := range ms {
		ms[i].Buffers = [][]byte{make([]byte, maxDatagram)}
		ms[i].OOB = ipv4.NewControlMessage(ipv4.FlagDst)
	}
	group := u.address.Group.Addr().AsSlice()
	in := newReceiver(&u.counters, &u.subs)
	in.self = own
	var cm ipv4.ControlMessage
	for {
		n, err := p.ReadBatch(ms, 0)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			u.log.Warn("nothing more is received from the LCM network", "bus", u.url, "why", err)
			u.subs.close()
			return
		}
		for i := range ms[:n] {
			if hasGroup && cm.Parse(ms[i].OOB[:ms[i].NN]) == nil && cm.Dst != nil && !cm.Dst.Equal(group) {
				continue
			}
			if from, ok := ms[i].Addr.(*net.UDPAddr); ok {
				in.datagram(from.AddrPort(), ms[i].Buffers[0][:ms[i].N])
			}
		}
	}
}
