package replay

import (
	"sync"

	"metasim/wire"
)

// An outbox writes to a connection on a goroutine of its own, so that a client that sends much before it reads does not
// wait for a session that waits for it. What lies in it is bounded by what is given ahead.
type outbox struct {
	conn wire.Conn
	done chan struct{}

	mu      sync.Mutex
	ready   sync.Cond
	waiting [][]wire.Packet
	closing bool
}

func newOutbox(conn wire.Conn) *outbox {
	o := &outbox{conn: conn, done: make(chan struct{})}
	o.ready.L = &o.mu
	go o.write()
	return o
}

// put takes packets, which are the outbox's from now on.
func (o *outbox) put(packets []wire.Packet) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, packets)
	o.ready.Signal()
}

// close waits until all is written that can be, and closes the connection.
func (o *outbox) close() {
	o.mu.Lock()
	o.closing = true
	o.ready.Signal()
	o.mu.Unlock()
	<-o.done
}

func (o *outbox) take() []wire.Packet {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) == 0 && !o.closing {
		o.ready.Wait()
	}
	if len(o.waiting) == 0 {
		return nil
	}
	packets := o.waiting[0]
	o.waiting[0] = nil
	o.waiting = o.waiting[1:]
	return packets
}

func (o *outbox) write() {
	defer close(o.done)
	var err error
	for packets := o.take(); packets != nil; packets = o.take() {
		if err == nil {
			// Who reads the connection hears of an error, too, but only after what the client had said before: so it stays open.
			err = o.conn.Write(packets)
		}
	}
	_ = o.conn.Close() // what was to be said is said, or nobody is there
}
