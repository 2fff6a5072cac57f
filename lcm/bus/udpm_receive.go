package bus

import (
	"bytes"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/net/ipv4"
)

const (
	maxDatagram   = 1 << 16
	readAtOnce    = 16      // datagrams taken with one call
	defaultBuffer = 2 << 20 // bytes of the socket's receive buffer, as far as the system allows; its own default loses more
	maxSenders    = 1000    // whose counting is followed
	maxGap        = 1 << 16 // messages that can be missing; a larger jump is another sender at that address
)

// listen begins to receive.
func (u *udpm) listen() error {
	conn, err := net.ListenMulticastUDP("udp4", nil, net.UDPAddrFromAddrPort(u.address.Group))
	if err != nil {
		return err
	}
	size := u.address.Buffer
	if size == 0 {
		size = defaultBuffer
	}
	if err := conn.SetReadBuffer(size); err != nil {
		_ = conn.Close() // the first error is the one to tell
		return err
	}
	p := ipv4.NewPacketConn(conn)
	// The socket hears every group on its port. Where the system does not say which one a datagram was for, LCM's traffic
	// on another group of the same port is heard too.
	told := p.SetControlMessage(ipv4.FlagDst, true) == nil
	own, err := u.self()
	if err != nil {
		_ = conn.Close() // the first error is the one to tell
		return err
	}
	u.socket = conn
	u.receiver.Go(func() { u.receive(p, told, own) })
	return nil
}

// self returns where datagrams come from that are not to be heard: the port from which this bus sends, at any address of
// this host.
func (u *udpm) self() (map[netip.AddrPort]bool, error) {
	if !u.options.OthersOnly {
		return nil, nil
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	port := netip.MustParseAddrPort(u.sender.conn.LocalAddr().String()).Port()
	// A host that has only a loopback address sends from none at all.
	own := map[netip.AddrPort]bool{netip.AddrPortFrom(netip.IPv4Unspecified(), port): true}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[netip.AddrPortFrom(prefix.Addr(), port)] = true
		}
	}
	return own, nil
}

// receive takes datagrams until the socket is closed.
func (u *udpm) receive(p *ipv4.PacketConn, told bool, own map[netip.AddrPort]bool) {
	ms := make([]ipv4.Message, readAtOnce)
	for i := range ms {
		ms[i].Buffers = [][]byte{make([]byte, maxDatagram)}
		ms[i].OOB = ipv4.NewControlMessage(ipv4.FlagDst)
	}
	group := u.address.Group.Addr().AsSlice()
	in := newInbound(&u.counters, &u.subs)
	in.own = own
	var cm ipv4.ControlMessage
	for {
		n, err := p.ReadBatch(ms, 0)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			u.log.Warn("the LCM bus is not heard any more", "bus", u.url, "why", err)
			u.subs.close()
			return
		}
		for i := range ms[:n] {
			if told && cm.Parse(ms[i].OOB[:ms[i].NN]) == nil && cm.Dst != nil && !cm.Dst.Equal(group) {
				continue
			}
			from, ok := ms[i].Addr.(*net.UDPAddr)
			if !ok {
				continue
			}
			in.datagram(from.AddrPort(), ms[i].Buffers[0][:ms[i].N])
		}
	}
}

// An inbound makes messages of datagrams.
type inbound struct {
	count     *counters
	subs      *subscriptions
	fragments *assembler
	last      map[netip.AddrPort]uint32 // the newest number of each sender
	own       map[netip.AddrPort]bool   // who is not heard
}

func newInbound(c *counters, s *subscriptions) *inbound {
	return &inbound{count: c, subs: s, fragments: newAssembler(), last: map[netip.AddrPort]uint32{}}
}

// datagram takes what came in from a sender. It keeps nothing of b.
func (in *inbound) datagram(from netip.AddrPort, b []byte) {
	if from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port()); in.own[from] {
		return
	}
	p, ok := parsePacket(b)
	if !ok {
		in.count.refused.Add(1)
		return
	}
	in.follow(from, p.seq)
	if p.count == 0 {
		in.message(Message{Channel: p.channel, Payload: p.payload}, false)
		return
	}
	lost, refused := in.fragments.lost, in.fragments.refused
	if m, whole := in.fragments.add(from, &p); whole {
		in.message(m, true)
	}
	in.count.lost.Add(in.fragments.lost - lost)
	in.count.refused.Add(in.fragments.refused - refused)
}

// message delivers; a payload that is not owned is copied if anybody wants it.
func (in *inbound) message(m Message, owned bool) {
	if m.Channel == selfTest {
		return
	}
	in.count.received.Add(1)
	if !in.subs.wants(m.Channel) {
		return
	}
	if !owned {
		m.Payload = bytes.Clone(m.Payload)
	}
	in.count.dropped.Add(in.subs.deliver(m))
}

// follow counts what a sender sent and did not come: gaps in its numbers. What comes late was no gap.
func (in *inbound) follow(from netip.AddrPort, seq uint32) {
	last, known := in.last[from]
	ahead := int32(seq - last)
	switch {
	case !known && len(in.last) >= maxSenders:
		clear(in.last)
	case !known || ahead > maxGap || ahead < -maxGap: // it began, perhaps anew
	case ahead > 0:
		in.count.lost.Add(uint64(ahead - 1))
	default:
		if ahead < 0 && in.count.lost.Load() > 0 {
			in.count.lost.Add(^uint64(0))
		}
		return
	}
	in.last[from] = seq
}
