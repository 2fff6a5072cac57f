package server

import (
	"sync"
	"sync/atomic"
	"time"

	"metasim/internal/slab"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A connection is one connection, as long as the run lasts. The turn guards it.
type connection struct {
	server   *Server
	conn     wire.Conn
	session  *session.Conn
	outbox   *outbox
	clients  []metasim.ClientID // that have joined on it
	batch    []wire.Packet      // what this round has for it
	use      slab.Use           // of the memory of batch
	queued   bool               // it is in Server.written
	heard    uint64             // packets received
	known    uint64             // packets received when its outbox last exceeded OutboxLimit; more since then means that the peer still asks
	answered bool               // this round authorizes a member that waits
	answer   uint64             // up to here, in bytes ever put into the outbox, the last such answer goes
	watched  bool               // a timer will look whether the peer reads
	visitor  *visitor           // nil once the peer has shown the token
	repeats  int                // packets in a row that say nothing new
	idle     atomic.Int32       // of them, those beyond freeRepeats, for which the reader is still to wait
	mailed   int                // of its packets that wait in the mailbox, as of round; the mailbox guards both
	round    uint64             //
	direct   bool               // the peer is in this process

	repeating int                           // clients on it that repeat their past
	gate      atomic.Pointer[chan struct{}] // the reader waits until it is closed; nil: it reads on
}

// A peer that repeats itself without end would take turns, and processors, from the others. After some packets in a row that say nothing
// new, its connection is read slowly. What a peer of metasim says is always new.
const (
	freeRepeats = 64
	repeatTime  = 20 * time.Microsecond // the wait for each packet more
	maxWait     = 100 * time.Millisecond
)

// repeat notes whether a packet says nothing new.
func (c *connection) repeat(again bool) {
	if !again {
		c.repeats = 0
	} else if c.repeats++; c.repeats > freeRepeats {
		c.idle.Add(1)
	}
}

// crowd keeps the reader from reading on while too much of what the peer has said waits, or lets it go on.
func (c *connection) crowd(full bool) {
	switch gate := c.gate.Load(); {
	case full && gate == nil:
		c.gate.Store(new(make(chan struct{})))
	case !full && gate != nil:
		c.gate.Store(nil)
		close(*gate)
	}
}

// slowDown is the reader's: it waits for what the peer has repeated, or until the run is over.
func (c *connection) slowDown() {
	if gate := c.gate.Load(); gate != nil {
		select {
		case <-*gate:
		case <-c.server.over:
		}
	}
	n := c.idle.Load()
	if n == 0 {
		return
	}
	c.idle.Add(-n)
	timer := time.NewTimer(min(time.Duration(n)*repeatTime, maxWait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.server.over:
	}
}

// minBatch is for how many packets a connection always keeps memory.
const minBatch = 8

// Put adds a packet to what this round has for the connection.
func (c *connection) Put(p wire.Packet) {
	c.batch = append(c.batch, p)
	if !c.queued {
		c.queued = true
		c.server.written = append(c.server.written, c)
	}
}

// flush puts into the outbox what this round has for the connection. It returns how many bytes waited there before, and
// how many wait now.
func (c *connection) flush() (before, after int, err error) {
	before, after, err = c.outbox.put(c.batch)
	if c.answered {
		c.answered, c.answer = false, c.outbox.total
	}
	clear(c.batch)
	c.batch, c.queued = slab.Reuse(c.batch, &c.use, minBatch), false
	return before, after, err
}

// asks reports whether the peer has sent something since its outbox exceeded OutboxLimit, or has not read the answer to
// what it sent before.
func (c *connection) asks() bool { return c.heard > c.known || c.outbox.taken() < c.answer }

// An outbox holds what waits to be written to one connection. The goroutine that has the turn puts packets, and never
// waits: it writes what the connection takes at once, and a goroutine of the outbox writes the rest. A connection that
// cannot tell whether a write would wait is written by that goroutine only. One inside the process may take everything at
// once.
type outbox struct {
	conn  wire.Conn
	spawn func(func()) bool // starts a goroutine, until the run is over

	// The turn guards these.
	held   bool   // what is put is not sent before it is released: see Config.Durable
	begun  bool   // direct is known
	direct bool   // the peer is in this process, and a write hands the packets over
	total  uint64 // bytes that were ever put

	mu      sync.Mutex
	ready   sync.Cond
	prompt  wire.Prompt // nil if only the goroutine writes
	encoder wire.Encoder
	pending []byte      // frames that are held
	marked  int         // of them, those that the next release lets go
	frames  wire.Frames // that wait
	use     slab.Use    // of the memory of frames
	writing int         // bytes that the goroutine is writing
	active  bool        // there is a goroutine
	writes  uint64      // that have ended
	closing bool
	broken  bool // nothing can be written any more; the reader gets the error
}

func newOutbox(conn wire.Conn, spawn func(func()) bool) *outbox {
	o := &outbox{conn: conn, spawn: spawn}
	o.ready.L = &o.mu
	o.prompt, _ = conn.(wire.Prompt)
	return o
}

// begin finds out, before the first put, whether the peer takes packets directly.
func (o *outbox) begin() {
	if o.begun {
		return
	}
	o.begun = true
	d, ok := o.conn.(wire.Direct)
	o.direct = ok && d.Immediate()
}

// put takes the packets of a round, of which it keeps nothing. It returns how many bytes waited before, and how many wait
// now.
func (o *outbox) put(packets []wire.Packet) (before, after int, err error) {
	o.begin()
	if o.direct {
		_ = o.conn.Write(packets) // the mailbox gets the error of a peer that is gone
		return 0, 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before = o.frames.Len() + o.writing
	if o.broken {
		return before, before, nil
	}
	if o.held {
		held := len(o.pending)
		o.pending, err = o.encoder.AppendFrames(o.pending, packets)
		o.total += uint64(len(o.pending) - held)
		return before, before, err
	}
	if err = o.encoder.Append(&o.frames, packets); err != nil {
		return before, before, err
	}
	o.total += uint64(o.frames.Len() + o.writing - before)
	o.send()
	return before, o.frames.Len() + o.writing, nil
}

// mark says that the next release lets go what is held by now. It reports false if that is nothing.
func (o *outbox) mark() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.marked = len(o.pending)
	return o.marked > 0
}

// release sends what was marked. It reports whether more is held.
func (o *outbox) release() (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.letGo(o.marked)
	if !o.broken && o.frames.Len() > 0 {
		o.send()
	}
	return len(o.pending) > 0
}

// letGo moves the first n bytes that are held to those that wait.
func (o *outbox) letGo(n int) {
	if !o.broken {
		o.frames.Add(o.pending[:n])
	}
	o.pending = o.pending[:copy(o.pending, o.pending[n:])]
	o.marked = 0
	if len(o.pending) == 0 && cap(o.pending) > maxFrames {
		o.pending = nil
	}
}

// send writes what the connection takes at once, and leaves the rest to the goroutine.
func (o *outbox) send() {
	if o.prompt != nil && !o.active {
		n, err := o.frames.TryWrite(o.prompt)
		if n > 0 {
			o.writes++
		}
		if o.broken = err != nil; o.broken {
			o.frames = wire.Frames{}
		}
	}
	switch {
	case o.frames.Len() == 0:
		o.frames.Reuse(&o.use, minFrames, maxFrames)
	case o.active:
		o.ready.Signal()
	default:
		o.active = o.spawn(o.write)
	}
}

// state returns how many bytes wait, and how many writes have ended.
func (o *outbox) state() (bytes int, writes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.frames.Len() + o.writing, o.writes
}

// taken returns how many bytes were ever written.
func (o *outbox) taken() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total - uint64(o.frames.Len()+o.writing+len(o.pending))
}

// close has what waits written, and then the connection closed.
func (o *outbox) close() {
	o.begin()
	if o.direct {
		_ = o.conn.Close() // nothing waits
		return
	}
	o.mu.Lock()
	if o.closing {
		o.mu.Unlock()
		return
	}
	o.closing = true
	o.letGo(len(o.pending)) // the run is over, or the peer
	if !o.active {
		o.active = o.spawn(o.write) // a transport may take a moment to close
	}
	idle := !o.active
	o.ready.Signal()
	o.mu.Unlock()
	if idle { // the run is over, and the caller may wait
		_ = o.conn.Close() // nothing more can be done about an error
	}
}

// write is the goroutine. It runs until nothing waits, or, where only it writes, until close.
func (o *outbox) write() {
	var frames wire.Frames
	for o.take(&frames) {
		if frames.Len() == 0 || frames.WriteAll(o.conn) != nil {
			o.mu.Lock()
			o.broken = true
			o.mu.Unlock()
			_ = o.conn.Close() // everything was written, or the reader reports the broken connection
			return
		}
	}
}

// How many bytes of memory for frames a connection keeps, twice: at most, and at least. Payloads below 128 KiB are copied into it, so a client that is sent such ones has use for
// more than the largest of them.
const (
	maxFrames = 160 << 10
	minFrames = 256
)

// take notes that what it gave before was written, and gives what waits, in exchange for that memory. It gives nothing when the connection is to
// be closed, and returns false when the goroutine has nothing left to do.
func (o *outbox) take(frames *wire.Frames) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing > 0 {
		o.writes++
		o.writing = 0
	}
	frames.Reuse(&o.use, minFrames, maxFrames)
	for o.frames.Len() == 0 && !o.closing {
		if o.prompt != nil {
			o.active = false
			return false
		}
		o.ready.Wait()
	}
	*frames, o.frames = o.frames, *frames
	o.writing = frames.Len()
	return true
}
