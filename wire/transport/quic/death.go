package quic

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// A process that dies says nothing over QUIC, and neither does one that a debugger has stopped. The kernel of its host tells them apart: a
// stopped process still has its UDP socket; where the process has ended, the kernel answers a datagram that nobody has the port ("port
// unreachable"), which a connected socket reports as ECONNREFUSED. A host that vanished answers nothing: that is for peer_timeout.
//
// The datagram is a single byte, which no QUIC endpoint takes for its own. It comes from another port than the connection, so a gateway in between may
// refuse it while the peer lives: one is sent while the peer is heard, and if that is refused, none counts.
//
// A server that was resumed at once has the port again. It knows nothing of the connection, and answers a packet of it with a stateless reset (RFC 9000, 10.3), by the key that
// follows from its certificate; but not a PING, which is shorter than a reset. So a client that hears nothing sends what a new path is tried with, a packet of 1200 bytes. A server that
// lives answers that, too.

const (
	// lookEvery is how often a connection is looked at. A peer that is idle sends a packet each keepAlive; after stillLooks looks without
	// one its kernel is asked: 2.1 s after its last packet at the latest.
	lookEvery  = 700 * time.Millisecond
	stillLooks = 2
	// answerTime is how long the answer may take.
	answerTime = 300 * time.Millisecond
	// maxAsked is how many kernels a listener asks at once, each with a descriptor of its own. The others are asked at a later look.
	maxAsked = 16
)

// watch looks at the peer until the connection ends. asking has a place for each question that may be open.
func (c *conn) watch(asking chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	addr, isUDP := c.quic.RemoteAddr().(*net.UDPAddr)
	if !isUDP {
		return
	}
	received, still := uint64(0), 0
	tried, counts := addr.IP.IsLoopback(), addr.IP.IsLoopback() // no gateway lies between processes of one host
	for {
		select {
		case <-c.quic.Context().Done():
			return
		case <-tick.C:
		}
		now := c.quic.ConnectionStats().PacketsReceived
		if still++; now != received {
			received, still = now, 0
		}
		if still >= stillLooks && !counts {
			c.challenge()
		}
		if ask := still == 0 && !tried || still >= stillLooks && counts; !ask {
			continue
		}
		select {
		case asking <- struct{}{}:
		default:
			continue
		}
		refused := nobodyHas(addr)
		<-asking
		switch {
		case still == 0:
			tried, counts = true, !refused
		case refused:
			c.gone.Store(true)
			_ = c.quic.CloseWithError(0, "the process has ended") // the peer is gone
			return
		default:
			c.challenge()
		}
	}
}

// challenge asks a server whether it knows the connection. One that does not ends it.
func (c *conn) challenge() {
	if c.dialed == nil {
		return
	}
	if c.path == nil {
		path, err := c.quic.AddPath(c.dialed)
		if err != nil {
			return // the connection has ended
		}
		c.path = path
	}
	ctx, cancel := context.WithTimeout(c.quic.Context(), lookEvery)
	defer cancel()
	_ = c.path.Probe(ctx) // where no answer comes, the next look asks again
}

// nobodyHas asks the kernel of a host whether any process has a UDP port. Without an answer somebody may have it.
func nobodyHas(addr *net.UDPAddr) bool {
	probe, err := net.DialUDP("udp", nil, addr)
	if err != nil {
		return false
	}
	defer func() { _ = probe.Close() }() // nothing waits in it
	if err := probe.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return false
	}
	if _, err = probe.Write([]byte{0}); err == nil {
		_, err = probe.Read(make([]byte, 1))
	}
	return errors.Is(err, syscall.ECONNREFUSED) && (!addr.IP.IsLoopback() || isFree(addr))
}

// isFree reports whether a port of this host can be had. Where the peer is a forwarder whose socket is connected, as that of socat or of a
// container's proxy, the kernel refuses what comes from another port, though the process lives.
func isFree(addr *net.UDPAddr) bool {
	udp, err := net.ListenUDP("udp", addr)
	return err == nil && udp.Close() == nil
}
