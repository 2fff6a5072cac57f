package server

import (
	"sync"

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
	encoder wire.Encoder
	frames  []byte // that wait
	writing int    // bytes that are being written
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

// put takes a pass's packets, of which it keeps nothing. It returns how many bytes the peer had not taken before, and
// how many with them.
func (o *outbox) put(packets []wire.Packet) (before, after int, err error) {
	if o.direct {
		// A peer that is gone says so to the mailbox.
		_ = o.conn.Write(packets)
		return 0, 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before = len(o.frames) + o.writing
	if o.frames, err = o.encoder.AppendFrames(o.frames, packets); err != nil {
		return before, before, err
	}
	o.ready.Signal()
	return before, len(o.frames) + o.writing, nil
}

// state returns how many bytes the peer has not taken, and how many writes it has.
func (o *outbox) state() (bytes int, writes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.frames) + o.writing, o.writes
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
	var frames []byte
	for {
		if frames = o.take(frames); len(frames) == 0 {
			break
		}
		if err := o.conn.WriteFrames(frames); err != nil {
			break
		}
	}
	// Nothing depends on how the close went: what was to be written was, or the reader reports the broken connection.
	_ = o.conn.Close()
}

// keepFrames is how much memory an idle connection holds on to, twice.
const keepFrames = 64 << 10

// take notes that what it returned before was written, waits for frames, and swaps them with its memory. It returns
// nothing when all is done.
func (o *outbox) take(written []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(written) > 0 {
		o.writes++
		o.writing = 0
	}
	for len(o.frames) == 0 && !o.closing {
		o.ready.Wait()
	}
	frames := o.frames
	o.frames, o.writing = written[:0], len(frames)
	if cap(written) > keepFrames {
		o.frames = nil
	}
	return frames
}
