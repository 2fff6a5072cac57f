package run

import (
	"sync"

	"metasim/wire"
)

// A courier writes packets to a connection, so that whoever has some need not wait for that.
type courier struct {
	mu      sync.Mutex
	changed sync.Cond
	packets []wire.Packet
	closed  bool
}

func newCourier() *courier {
	c := new(courier)
	c.changed.L = &c.mu
	return c
}

// put takes packets, whose bodies are not changed any more. It does not wait.
func (c *courier) put(packets ...wire.Packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.packets = append(c.packets, packets...)
		c.changed.Signal()
	}
}

// close has what was put written, and then the connection closed.
func (c *courier) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Signal()
}

// deliver writes to a connection what is put, in order, until close is called or the connection breaks. Then it closes the connection: who reads from it
// hears why.
func (c *courier) deliver(conn wire.Conn) {
	var packets []wire.Packet
	for c.next(&packets) {
		if conn.Write(packets) != nil {
			break
		}
	}
	c.close()
	_ = conn.Close() // nothing more can be done about an error
}

// next waits for packets, and exchanges them for the memory of others. It returns false after the last ones.
func (c *courier) next(packets *[]wire.Packet) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.packets) == 0 && !c.closed {
		c.changed.Wait()
	}
	clear(*packets)
	*packets, c.packets = c.packets, (*packets)[:0]
	return len(*packets) > 0
}
