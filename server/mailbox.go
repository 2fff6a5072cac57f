package server

import (
	"sync"
	"sync/atomic"

	"metasim/metasim"
	"metasim/wire"
)

// A mailbox gathers what comes while a goroutine has the turn, or while observers cannot take more. All of it is taken at once, as
// the next batch.
type mailbox struct {
	waiting atomic.Int32  // how many items wait, to be read without the lock
	woken   chan struct{} // the main loop waits for it

	mu     sync.Mutex
	room   sync.Cond
	items  []item
	taken  []item // what was taken: its memory is used again
	rest   []item // the part of taken that was put back
	bytes  int    // of the payloads of items
	round  uint64 // how often items were taken
	closed bool
}

// An item is one packet of a connection, or the error with which the connection ended, or a command.
type item struct {
	from    *connection
	packet  wire.Packet
	err     error
	command func()
}

// How many items may wait, and how many bytes of payloads, before a reader that brings more waits.
const (
	maxMail      = 1 << 14
	maxMailBytes = 64 << 20
	// maxShare is how many items of one connection may wait: who brings much gets no more of a round than the others.
	maxShare = 1 << 10
)

func newMailbox() *mailbox {
	m := &mailbox{woken: make(chan struct{}, 1)}
	m.room.L = &m.mu
	return m
}

// put adds packets of a connection and, if err is not nil, its end. It waits for room. After close it does nothing.
func (m *mailbox) put(from *connection, packets []wire.Packet, err error) {
	m.mu.Lock()
	for m.lacksRoom(from) && !m.closed {
		m.room.Wait()
	}
	if !m.closed {
		for _, p := range packets {
			m.items = append(m.items, item{from: from, packet: p.Keep()})
			switch body := p.Body.(type) {
			case *metasim.Send:
				m.bytes += len(body.Payload)
			case wire.Checkpoint:
				m.bytes += len(body.State)
			}
		}
		if err != nil {
			m.items = append(m.items, item{from: from, err: err})
		}
		from.mailed += len(packets)
	}
	m.count()
	m.mu.Unlock()
}

// lacksRoom reports whether a connection has to wait. Models in this process share one, and have no share.
func (m *mailbox) lacksRoom(from *connection) bool {
	if from.round != m.round {
		from.round, from.mailed = m.round, 0
	}
	return len(m.items) >= maxMail || m.bytes >= maxMailBytes || from.mailed >= maxShare && !from.direct
}

// post adds a command and wakes the main loop. After close it does nothing.
func (m *mailbox) post(command func()) {
	m.mu.Lock()
	if !m.closed {
		m.items = append(m.items, item{command: command})
		m.count()
	}
	m.mu.Unlock()
	m.wake()
}

// wake wakes the main loop.
func (m *mailbox) wake() {
	select {
	case m.woken <- struct{}{}:
	default: // it is to wake already
	}
}

// empty reports whether there is nothing to take.
func (m *mailbox) empty() bool { return m.waiting.Load() == 0 }

// count notes how many items wait.
func (m *mailbox) count() { m.waiting.Store(int32(len(m.items) + len(m.rest))) }

// take returns all that waits, or what was put back before. It is valid until the next take.
func (m *mailbox) take() (items []item) {
	if m.empty() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if items, m.rest = m.rest, nil; len(items) == 0 {
		clear(m.taken)
		m.items, m.taken, m.bytes = m.taken[:0], m.items, 0
		items = m.taken
		m.round++
		m.room.Broadcast()
	}
	m.count()
	return items
}

// putBack takes back the last part of what take returned: the next take returns that.
func (m *mailbox) putBack(rest []item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rest = rest
	m.count()
}

// close drops what waits, and releases the goroutines that wait for room. The mailbox takes nothing any more.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.items, m.rest = nil, nil
	m.count()
	m.room.Broadcast()
}
