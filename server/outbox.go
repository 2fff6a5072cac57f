package server

import (
	"sync"

	"metasim/metasim"
	"metasim/wire"
)

// An outbox holds what waits to be written to one connection. The loop puts and never waits; a goroutine of its own
// writes, all that has gathered in one write.
//
// A connection inside the process may take everything at once: then the loop writes to it itself.
type outbox struct {
	conn   wire.Conn
	begun  bool // the loop's: something was put, and direct is known
	direct bool // the loop's

	mu      sync.Mutex
	ready   sync.Cond
	packets []wire.Packet
	bytes   int    // of packets, and of those that are being written
	writes  uint64 // that are done
	closing bool
}

func newOutbox(conn wire.Conn) *outbox {
	o := &outbox{conn: conn}
	o.ready.L = &o.mu
	return o
}

// begin finds out, before the first put, how to write: spawn starts the goroutine that does.
func (o *outbox) begin(spawn func(func()) bool) {
	if o.begun {
		return
	}
	o.begun = true
	if d, ok := o.conn.(wire.Direct); ok && d.Immediate() {
		o.direct = true
		return
	}
	spawn(o.write)
}

// put appends a pass's packets. It returns how many bytes the peer had not taken before, and how many with them.
func (o *outbox) put(packets []wire.Packet) (before, after int) {
	if o.direct {
		// A peer that is gone says so to the mailbox.
		_ = o.conn.Write(packets)
		return 0, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before = o.bytes
	o.packets = append(o.packets, packets...)
	for i := range packets {
		o.bytes += size(packets[i].Body)
	}
	o.ready.Signal()
	return before, o.bytes
}

// state returns how many bytes the peer has not taken, and how many writes it has.
func (o *outbox) state() (bytes int, writes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes, o.writes
}

// close lets what waits be written, and then closes the connection.
func (o *outbox) close() {
	if !o.begun || o.direct {
		_ = o.conn.Close() // nothing is left to be written
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
	o.ready.Signal()
}

// write runs until close, or until the connection breaks: its reader tells the loop of that.
func (o *outbox) write() {
	var batch []wire.Packet
	for {
		written := 0
		for i := range batch {
			written += size(batch[i].Body)
		}
		clear(batch)
		batch = o.take(batch[:0], written)
		if len(batch) == 0 {
			break
		}
		if err := o.conn.Write(batch); err != nil {
			break
		}
	}
	// Nothing depends on how the close went: what was to be written was, or the reader reports the broken connection.
	_ = o.conn.Close()
}

// take notes that the batch before was written, waits for packets, and swaps them with its memory. It returns nothing
// when all is done.
func (o *outbox) take(memory []wire.Packet, written int) []wire.Packet {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= written
	if written > 0 {
		o.writes++
	}
	for len(o.packets) == 0 && !o.closing {
		o.ready.Wait()
	}
	batch := o.packets
	o.packets = memory
	return batch
}

// size is what a packet counts in an outbox: about its bytes on the wire.
func size(b wire.Body) int {
	const overhead = 32
	if d, ok := b.(metasim.Deliver); ok {
		return overhead + len(d.Message.Channel) + len(d.Message.Payload)
	}
	return overhead
}
