package relay

import (
	"crypto/subtle"
	"sync"
	"time"

	"metasim/wire"
)

// A connection that is not private may be that of any program of this host: a visitor, until the server has welcomed a client on it. A few
// are taken in at a time, each says Hello at once, and one whose Hello is refused is closed.
const (
	maxVisitors = 64
	helloTime   = 2 * time.Second
)

// visits makes the peer a visitor, once there is a place. It reports false when the relay has ended.
func (l *local) visits() bool {
	r := l.relay
	select {
	case r.visitors <- struct{}{}:
	case <-r.over:
		return false
	}
	l.visitor = sync.OnceFunc(func() { <-r.visitors })
	if g, ok := l.conn.(wire.Guarded); ok {
		g.Guard(func(token string) bool {
			return r.config.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(r.config.Token)) == 1
		})
	}
	time.AfterFunc(helloTime, func() {
		r.mu.Lock()
		silent := len(l.members) == 0
		r.mu.Unlock()
		if silent {
			_ = l.conn.Close() // its reader does the rest
		}
	})
	return true
}

// welcomed takes that the server has welcomed a client of the connection.
func (l *local) welcomed() {
	if l.visitor == nil {
		return
	}
	l.visitor()
	l.visitor = nil
	if g, ok := l.conn.(wire.Guarded); ok {
		g.Trust()
	}
}
