package replay

import (
	"sync"

	"metasim/wire"
)

// A writer writes to the client on a goroutine of its own: a client that sends much before it reads would otherwise wait
// for a replay that waits for the client. What waits is bounded by what the client is given ahead.
type writer struct {
	conn  wire.Conn
	group sync.WaitGroup

	mu      sync.Mutex
	waiting []wire.Packet
	active  bool  // there is a goroutine
	err     error // of a write: nothing more is written, and the connection is still read to its end
}

// write takes packets, which belong to the writer from now on.
func (w *writer) write(packets []wire.Packet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, packets...)
	if !w.active && len(w.waiting) > 0 {
		w.active = true
		w.group.Go(w.run)
	}
}

func (w *writer) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) > 0 && w.err == nil {
		packets := w.waiting
		w.waiting = nil
		w.mu.Unlock()
		err := w.conn.Write(packets)
		w.mu.Lock()
		w.err = err
	}
	w.waiting, w.active = nil, false
}

// close waits until all is written that can be written, and closes the connection.
func (w *writer) close() {
	w.group.Wait()
	_ = w.conn.Close() // everything was written, or the client is gone
}
