package bus

import (
	"hash/maphash"
	"sync"
)

// maxEchoes is how many messages may be under way to a server and back. More means that it drops what it should give back.
const maxEchoes = 1 << 20

// echoes are what a client has published and its server will give back to it. The protocol has no word for whose a message
// is, but it is enough to know what is in it: of several equal messages it does not matter which is left out.
type echoes struct {
	seed maphash.Seed

	mu      sync.Mutex
	number  uint64              // of the next message
	waiting map[uint64][]uint64 // the numbers of those that have not come back, oldest first, by hash
	order   []echo              // all of them, and some that have come back
}

type echo struct{ hash, number uint64 }

func newEchoes() *echoes {
	return &echoes{seed: maphash.MakeSeed(), waiting: map[uint64][]uint64{}}
}

func (e *echoes) hash(channel string, payload []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(e.seed)
	_, _ = h.WriteString(channel) // a hash takes everything
	_ = h.WriteByte(0)
	_, _ = h.Write(payload)
	return h.Sum64()
}

// expect puts a message on its way, and waits for its return if it got there.
func (e *echoes) expect(m *Message, put func() bool) bool {
	hash := e.hash(m.Channel, m.Payload)
	e.mu.Lock() // before it can come back
	defer e.mu.Unlock()
	if !put() {
		return false
	}
	e.waiting[hash] = append(e.waiting[hash], e.number)
	e.order = append(e.order, echo{hash, e.number})
	e.number++
	if len(e.order) > maxEchoes {
		e.forget(e.order[0])
	}
	e.trim()
	return true
}

// met reports whether a message that came is one that was waited for.
func (e *echoes) met(channel string, payload []byte) bool {
	if e == nil {
		return false
	}
	hash := e.hash(channel, payload)
	e.mu.Lock()
	defer e.mu.Unlock()
	numbers := e.waiting[hash]
	if len(numbers) == 0 {
		return false
	}
	e.forget(echo{hash, numbers[0]})
	e.trim()
	return true
}

// forget waits no more for a message, the oldest of its hash.
func (e *echoes) forget(o echo) {
	numbers := e.waiting[o.hash]
	switch {
	case len(numbers) == 0 || numbers[0] != o.number: // it has come back
	case len(numbers) == 1:
		delete(e.waiting, o.hash)
	default:
		e.waiting[o.hash] = numbers[1:]
	}
}

// trim takes those out of the order that nobody waits for, as far as they are the oldest.
func (e *echoes) trim() {
	n := 0
	for n < len(e.order) {
		o := e.order[n]
		if numbers := e.waiting[o.hash]; len(numbers) > 0 && numbers[0] <= o.number {
			break
		}
		n++
	}
	e.order = e.order[n:]
}
