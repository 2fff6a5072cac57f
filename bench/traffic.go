package bench

import (
	"sync/atomic"

	"metasim/wire"
)

// traffic counts what goes through a server's connections: frames are calls of Read and Write that carried something.
type traffic struct{ frames atomic.Int64 }

// watch returns the listener, or one that counts.
func (t *traffic) watch(l wire.Listener) wire.Listener {
	if t == nil {
		return l
	}
	return &watchedListener{l, t}
}

type watchedListener struct {
	wire.Listener
	traffic *traffic
}

func (l *watchedListener) Accept() (wire.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{c, l.traffic}, nil
}

type watchedConn struct {
	wire.Conn
	traffic *traffic
}

func (c *watchedConn) Read() ([]wire.Packet, error) {
	p, err := c.Conn.Read()
	if len(p) > 0 {
		c.traffic.frames.Add(1)
	}
	return p, err
}

func (c *watchedConn) Write(p []wire.Packet) error {
	c.traffic.frames.Add(1)
	return c.Conn.Write(p)
}
