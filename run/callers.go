package run

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Callers are the connections of those who watch a run over HTTP. There are few at a time, so that they cannot take the descriptors of
// the run: where there are too many, who has been connected for longest without being answered makes room for the newest.
type callers struct {
	net.Listener
	most int

	mu   sync.Mutex
	open []*caller // the oldest first
}

// A caller is one connection.
type caller struct {
	net.Conn
	of       *callers
	answered bool // a request of it is being answered
}

// callerKey is for the caller of a request, in its context.
type callerKey struct{}

// Accept takes in the next connection, and closes another one where there are too many.
func (c *callers) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		taken, leaves := c.take(conn)
		if leaves != nil {
			_ = leaves.Close() // nobody waits for what it says
		}
		if taken != nil {
			return taken, nil
		}
	}
}

// take adds a connection, and returns the one that has to leave for it, if any: that one itself where all others are being answered.
func (c *callers) take(conn net.Conn) (taken *caller, leaves net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.most {
		i := slices.IndexFunc(c.open, func(a *caller) bool { return !a.answered })
		if i < 0 {
			return nil, conn
		}
		leaves = c.open[i].Conn
		c.open = slices.Delete(c.open, i, i+1)
	}
	taken = &caller{Conn: conn, of: c}
	c.open = append(c.open, taken)
	return taken, leaves
}

// Close makes room.
func (a *caller) Close() error {
	a.of.mu.Lock()
	a.of.open = slices.DeleteFunc(a.of.open, func(b *caller) bool { return a == b })
	a.of.mu.Unlock()
	return a.Conn.Close()
}

func (a *caller) answers(now bool) {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.answered = now
}

// context is the http.Server's ConnContext.
func (*callers) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, conn)
}

// handler lets requests be answered by h. Who is being answered keeps its place.
func (*callers) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a, ok := r.Context().Value(callerKey{}).(*caller); ok {
			a.answers(true)
			defer a.answers(false)
		}
		h.ServeHTTP(w, r)
	})
}
