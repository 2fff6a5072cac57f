package server

import (
	"sync"
	"sync/atomic"

	"metasim/wire"
)

// A mailbox gathers what connections bring while somebody has the turn. It is taken in one go: the next batch.
type mailbox struct {
	waiting atomic.Int32 // len(items), to look at without the lock

	mu     sync.Mutex
	room   sync.Cond
	items  []item
	taken  []item // memory of the take before
	closed bool
}

// An item is one packet of a session, or how its connection ended.
type item struct {
	session *session
	packet  wire.Packet
	err     error
}

// maxMail is how many items may wait before those who bring more wait.
const maxMail = 1 << 14

func newMailbox() *mailbox {
	m := &mailbox{}
	m.room.L = &m.mu
	return m
}

// put brings packets of a session and, if err is not nil, the end of its connection. It waits for room; once the mailbox
// is closed it forgets what it is given.
func (m *mailbox) put(sess *session, packets []wire.Packet, err error) {
	m.mu.Lock()
	for len(m.items) >= maxMail && !m.closed {
		m.room.Wait()
	}
	if !m.closed {
		for _, p := range packets {
			m.items = append(m.items, item{session: sess, packet: p.Keep()})
		}
		if err != nil {
			m.items = append(m.items, item{session: sess, err: err})
		}
	}
	m.waiting.Store(int32(len(m.items)))
	m.mu.Unlock()
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

// close lets everybody go who waits for room: nothing is taken any more.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.items = nil
	m.waiting.Store(0)
	m.room.Broadcast()
}
