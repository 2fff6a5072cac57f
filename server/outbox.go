package server

import (
	"sync"

	"metasim/wire"
)

// An outbox holds what waits to be written to one connection. Who has the turn puts, and never waits: it writes what
// goes out at once, and a goroutine of the outbox writes the rest. A connection that cannot tell whether it would wait
// is written by that goroutine alone; one inside the process may take everything at once.
type outbox struct {
	conn   wire.Conn
	spawn  func(func()) bool // starts a goroutine, until the run is over
	begun  bool              // who has the turn: something was put, and direct is known
	direct bool              // likewise
	total  uint64            // likewise: bytes that were ever put

	mu      sync.Mutex
	ready   sync.Cond
	prompt  wire.Prompt // nil where only the goroutine writes
	encoder wire.Encoder
	frames  []byte // that wait
	use     spare  // of their memory
	writing int    // bytes that the goroutine is writing
	active  bool   // there is a goroutine
	writes  uint64 // that are done
	closing bool
	broken  bool // nothing can be written any more: the reader tells why
}

func newOutbox(conn wire.Conn, spawn func(func()) bool) *outbox {
	o := &outbox{conn: conn, spawn: spawn}
	o.ready.L = &o.mu
	o.prompt, _ = conn.(wire.Prompt)
	return o
}

// begin finds out, before the first put, how to write.
func (o *outbox) begin() {
	if o.begun {
		return
	}
	o.begun = true
	d, ok := o.conn.(wire.Direct)
	o.direct = ok && d.Immediate()
}

// put takes a round's packets, of which it keeps nothing. It returns how many bytes the peer had not taken before, and
// how many it has not taken now.
func (o *outbox) put(packets []wire.Packet) (before, after int, err error) {
	o.begin()
	if o.direct {
		// A peer that is gone says so to the mailbox.
		_ = o.conn.Write(packets)
		return 0, 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before = len(o.frames) + o.writing
	if o.broken {
		return before, before, nil
	}
	if o.frames, err = o.encoder.AppendFrames(o.frames, packets); err != nil {
		return before, before, err
	}
	o.total += uint64(len(o.frames) + o.writing - before)
	o.send()
	return before, len(o.frames) + o.writing, nil
}

// send writes what goes out at once, and leaves the rest to the goroutine.
func (o *outbox) send() {
	if o.prompt != nil && !o.active {
		n, err := o.prompt.TryWriteFrames(o.frames)
		if n > 0 {
			o.writes++
		}
		if n < len(o.frames) {
			o.frames = o.frames[:copy(o.frames, o.frames[n:])]
		} else {
			o.frames = keep(o.frames, &o.use, keepLittle)
		}
		if o.broken = err != nil; o.broken {
			o.frames = nil
		}
	}
	switch {
	case len(o.frames) == 0:
		if cap(o.frames) > keepFrames {
			o.frames = nil
		}
	case o.active:
		o.ready.Signal()
	default:
		o.active = o.spawn(o.write)
	}
}

// state returns how many bytes the peer has not taken, and how many writes it has.
func (o *outbox) state() (bytes int, writes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.frames) + o.writing, o.writes
}

// taken returns how many bytes the peer has ever taken. Who has the turn calls it.
func (o *outbox) taken() uint64 {
	bytes, _ := o.state()
	return o.total - uint64(bytes)
}

// close lets what waits be written, and then closes the connection.
func (o *outbox) close() {
	o.begin()
	if o.direct {
		_ = o.conn.Close() // nothing is left to be written
		return
	}
	o.mu.Lock()
	if o.closing {
		o.mu.Unlock()
		return
	}
	o.closing = true
	if !o.active {
		o.active = o.spawn(o.write) // a transport may take a moment to close
	}
	idle := !o.active
	o.ready.Signal()
	o.mu.Unlock()
	if idle { // the run is over: whoever closes has the time
		_ = o.conn.Close() // as above
	}
}

// write is the goroutine. It runs until nothing is left to be written, or, where only it writes, until close.
func (o *outbox) write() {
	var frames []byte
	for {
		var done bool
		if frames, done = o.take(frames); done {
			return
		}
		if len(frames) == 0 {
			break
		}
		if err := o.conn.WriteFrames(frames); err != nil {
			break
		}
	}
	o.mu.Lock()
	o.broken = true
	o.mu.Unlock()
	// Nothing depends on how the close went: what was to be written was, or the reader reports the broken connection.
	_ = o.conn.Close()
}

// How much memory for frames a connection holds on to, twice: at most, and in any case.
const (
	keepFrames = 64 << 10
	keepLittle = 256
)

// take notes that what it returned before was written, and swaps what waits with its memory. It returns nothing when the
// connection is to be closed, and done when the goroutine has nothing left to do.
func (o *outbox) take(written []byte) (frames []byte, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(written) > 0 {
		o.writes++
		o.writing = 0
	}
	for len(o.frames) == 0 && !o.closing {
		if o.prompt != nil {
			o.active = false
			return nil, true
		}
		o.ready.Wait()
	}
	frames = o.frames
	o.frames, o.writing = keep(written, &o.use, keepLittle), len(frames)
	if cap(written) > keepFrames {
		o.frames = nil
	}
	return frames, false
}
