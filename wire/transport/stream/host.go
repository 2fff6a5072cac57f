package stream

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// A host that vanishes (its power fails, its network is cut) no longer answers. A host that is there always answers: its kernel does so
// even for a process that a debugger has stopped. So a live process is never given up.
//
// While no data is on its way, the keepalive of TCP notices a vanished host. While data is on its way, the kernel only sends it again, for
// a quarter of an hour. TCP_USER_TIMEOUT would be shorter, but it also breaks the connection of a stopped process whose window is full.
// So this side itself looks how long ago the host has answered, on systems that tell.

// A hostConn is a TCP connection that breaks when the peer's host has vanished.
type hostConn struct {
	tcpConn
	patience time.Duration
	vanished atomic.Bool
	closed   atomic.Bool
}

// A tcpConn is what a hostConn needs of a connection.
type tcpConn interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// looks is how many times in the time of patience the connection is looked at.
const looks = 8

// watchHost breaks a connection when the peer's host has been silent for patience; 0: never. polled says that packets are read from c itself, so its reads may poll; false: from a stream inside c, as of TLS.
func watchHost(c net.Conn, patience time.Duration, polled bool) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	if patience == 0 {
		_ = tcp.SetKeepAlive(false) // fails only if the connection is closed
	} else {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{ // as above
			Enable: true, Idle: max(time.Second, patience/3), Interval: max(time.Second, patience/9), Count: 6,
		})
	}
	if polled {
		c = movable(c)
	}
	if patience == 0 {
		return c
	}
	h := &hostConn{tcpConn: c.(tcpConn), patience: patience}
	h.look(false)
	return h
}

// look looks at the connection from now on. If the host was silent twice in a row, the connection breaks.
func (h *hostConn) look(silent bool) {
	time.AfterFunc(h.patience/looks, func() {
		now := !h.closed.Load() && hostIsSilent(h.tcpConn, h.patience)
		switch {
		case h.closed.Load():
		case now && silent:
			h.vanished.Store(true)
			_ = h.tcpConn.Close() // wakes the Read
		default:
			h.look(now)
		}
	})
}

// settle implements settler.
func (h *hostConn) settle(polled bool) {
	if s, ok := h.tcpConn.(settler); ok {
		s.settle(polled)
	}
}

func (h *hostConn) Close() error {
	h.closed.Store(true)
	return h.tcpConn.Close()
}

func (h *hostConn) Read(b []byte) (int, error) {
	n, err := h.tcpConn.Read(b)
	if err != nil && h.vanished.Load() && errors.Is(err, net.ErrClosed) {
		err = fmt.Errorf("its host has not answered for %v (peer_timeout)", h.patience)
	}
	return n, err
}
