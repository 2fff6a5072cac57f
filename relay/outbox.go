package relay

import (
	"errors"
	"runtime"
	"sync"

	"metasim/internal/slab"
	"metasim/wire"
)

const (
	// roomFor: who adds to more bytes than this waits, where waiting is allowed.
	roomFor = 256 << 10
	// maxWaiting is how many bytes may wait for a client that does not read. The server has the same limit.
	maxWaiting = 256 << 20
	// How much memory an outbox keeps when nothing waits, twice: at most, and at least.
	keptFrames = 64 << 10
	leastKept  = 256
)

// errUnread ends the connection of a client that does not read.
var errUnread = errors.New("more than 256 MiB were waiting to be read by the client")

// An outbox holds the frames that wait to be written to one connection. What comes while a write is under way shares the next one.
type outbox struct {
	conn  wire.Conn
	spawn func(func()) // starts a goroutine
	waits bool         // put may wait for the peer: it writes itself

	mu      sync.Mutex
	room    sync.Cond
	encoder wire.Encoder
	frames  wire.Frames // that wait
	spare   wire.Frames // of the last write
	use     slab.Use    // of their memory
	active  bool        // somebody writes
	closing bool
	err     error // nothing can be written any more
}

func newOutbox(conn wire.Conn, waits bool, spawn func(func())) *outbox {
	o := &outbox{conn: conn, waits: waits, spawn: spawn}
	o.room.L = &o.mu
	return o
}

// put takes packets, of which it keeps nothing.
func (o *outbox) put(packets []wire.Packet) error {
	if len(packets) == 0 {
		return nil
	}
	o.mu.Lock()
	for o.waits && o.frames.Len() >= roomFor && o.err == nil {
		o.room.Wait()
	}
	if o.err != nil || o.closing {
		defer o.mu.Unlock()
		return o.err
	}
	err := o.encoder.Append(&o.frames, packets)
	if !o.waits && o.frames.Len() > maxWaiting {
		o.err, o.frames, err = errUnread, wire.Frames{}, errUnread
	}
	if err == nil && !o.active {
		o.try()
	}
	write := !o.active && o.frames.Len() > 0 && o.err == nil
	o.active = o.active || write
	o.mu.Unlock()
	switch {
	case write && o.waits:
		o.write()
	case write:
		o.spawn(o.write)
	}
	return err
}

// refuse ends a member, or a peer that is none.
func (o *outbox) refuse(number uint32, reason wire.Reason, why error) {
	_ = o.put([]wire.Packet{{Member: number, Body: wire.Refuse{Reason: reason, Text: why.Error()}}}) // the reader of the connection learns of an error
}

// try writes what the connection takes at once. That spares a goroutine.
func (o *outbox) try() {
	prompt, ok := o.conn.(wire.Prompt)
	if !ok || o.waits {
		return
	}
	_, err := o.frames.TryWrite(prompt)
	o.fails(err)
	o.trim()
}

// write writes until nothing waits.
func (o *outbox) write() {
	if o.waits {
		runtime.Gosched() // other clients of this host that have something to say say it now: one write for all
	}
	o.mu.Lock()
	for o.frames.Len() > 0 && o.err == nil {
		o.spare, o.frames = o.frames, o.spare
		o.room.Broadcast()
		o.mu.Unlock()
		err := o.spare.WriteAll(o.conn)
		o.mu.Lock()
		o.spare.Reuse(&o.use, leastKept, keptFrames)
		o.fails(err)
	}
	o.active = false
	o.trim()
	closing := o.closing
	o.mu.Unlock()
	if closing {
		_ = o.conn.Close() // what was to be said is written
	}
}

func (o *outbox) fails(err error) {
	if err != nil && o.err == nil {
		o.err, o.frames = err, wire.Frames{} // the reader of the connection learns it too
		o.room.Broadcast()
	}
}

// trim gives back the memory of a burst.
func (o *outbox) trim() {
	if o.frames.Len() == 0 {
		o.frames.Reuse(&o.use, leastKept, keptFrames)
	}
}

// close closes the connection when everything is written.
func (o *outbox) close() {
	o.mu.Lock()
	idle := !o.active && !o.closing
	o.closing = true
	o.mu.Unlock()
	if idle {
		o.spawn(func() { _ = o.conn.Close() }) // nothing waits; a transport may take a moment
	}
}

// broken returns why nothing can be written any more, nil if it can.
func (o *outbox) broken() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
