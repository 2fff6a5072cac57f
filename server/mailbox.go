package server

import (
	"sync"
	"sync/atomic"

	"metasim/wire"
)

// A mailbox gathers what comes while a goroutine has the turn. All of it is taken at once, as the next batch.
type mailbox struct {
	waiting atomic.Int32  // len(items), to be read without the lock
	woken   chan struct{} // the main loop waits for it

	mu     sync.Mutex
	room   sync.Cond
	items  []item
	taken  []item // what the last take returned: its memory is used again
	closed bool
}

// An item is one packet of a connection, or the error with which the connection ended, or a command.
type item struct {
	from    *connection
	packet  wire.Packet
	err     error
	command func()
}

// maxMail is how many items may wait before a reader that brings more waits.
const maxMail = 1 << 14

func newMailbox() *mailbox {
	m := &mailbox{woken: make(chan struct{}, 1)}
	m.room.L = &m.mu
	return m
}

// put adds packets of a connection and, if err is not nil, its end. It waits for room. After close it does nothing.
func (m *mailbox) put(from *connection, packets []wire.Packet, err error) {
	m.mu.Lock()
	for len(m.items) >= maxMail && !m.closed {
		m.room.Wait()
	}
	if !m.closed {
		for _, p := range packets {
			m.items = append(m.items, item{from: from, packet: p.Keep()})
		}
		if err != nil {
			m.items = append(m.items, item{from: from, err: err})
		}
	}
	m.waiting.Store(int32(len(m.items)))
	m.mu.Unlock()
}

// post adds a command and wakes the main loop. After close it does nothing.
func (m *mailbox) post(command func()) {
	m.mu.Lock()
	if !m.closed {
		m.items = append(m.items, item{command: command})
		m.waiting.Store(int32(len(m.items)))
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

// take returns all that waits, until the next take.
func (m *mailbox) take() []item {
	if m.empty() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.taken)
	m.items, m.taken = m.taken[:0], m.items
	m.waiting.Store(0)
	m.room.Broadcast()
	return m.taken
}

// close drops what waits, and releases the goroutines that wait for room. The mailbox takes nothing any more.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.items = nil
	m.waiting.Store(0)
	m.room.Broadcast()
}
