package server

import (
	"sync"
	"sync/atomic"

	"metasim/metasim"
)

// A large payload takes long to hash: 16 MiB take 14 ms. Clients need not wait for that, so it is done beside the turn, in the order in which it was to be done.
// Sends and deliveries are hashed by a goroutine each: their digests have nothing in common.

const (
	// leastBeside is the smallest payload that is hashed beside the turn: below it a goroutine costs more than it spares.
	leastBeside = 256 << 10
	// mostBeside is how many bytes may wait for one of the two goroutines before the turn waits too: they are kept in memory.
	mostBeside = 256 << 20
	// costBeside is what each message counts for, beside its payload.
	costBeside = 256
)

// A hashing hashes messages beside the turn.
type hashing struct{ sends, deliveries hashQueue }

func newHashing(ledger *metasim.Ledger, spawn func(func()) bool) *hashing {
	h := new(hashing)
	for _, q := range []*hashQueue{&h.sends, &h.deliveries} {
		q.ledger, q.spawn, q.changed.L = ledger, spawn, &q.mu
	}
	ledger.HashLater(func(m metasim.Hashing) bool {
		if m.Sent() {
			return h.sends.later(m)
		}
		return h.deliveries.later(m)
	})
	return h
}

// A hashQueue hashes messages in their order.
type hashQueue struct {
	ledger *metasim.Ledger
	spawn  func(func()) bool
	active atomic.Bool // there is a goroutine. The turn sets it, and the goroutine clears it

	mu      sync.Mutex
	changed sync.Cond
	waiting []metasim.Hashing
	bytes   int // of those that wait, and of those that are being hashed
}

// later takes a message, or reports false if it is to be hashed at once. The caller has the turn.
func (h *hashQueue) later(m metasim.Hashing) bool {
	if m.Size() < leastBeside && !h.active.Load() {
		return false
	}
	h.mu.Lock()
	for h.bytes > mostBeside && h.active.Load() {
		h.changed.Wait()
	}
	active := h.active.Load()
	if active {
		h.take(m)
	}
	h.mu.Unlock()
	if active {
		return true
	}
	if m.Size() < leastBeside { // the goroutine has ended meanwhile
		return false
	}
	h.take(m) // nobody else has it now
	h.active.Store(true)
	if h.spawn(h.run) {
		return true
	}
	h.waiting, h.bytes = nil, 0 // the run is over
	h.active.Store(false)
	return false
}

func (h *hashQueue) take(m metasim.Hashing) {
	h.waiting = append(h.waiting, m)
	h.bytes += m.Size() + costBeside
}

// run is the goroutine: it hashes what waits.
func (h *hashQueue) run() {
	var batch []metasim.Hashing
	h.mu.Lock()
	for len(h.waiting) > 0 {
		batch, h.waiting = h.waiting, batch[:0]
		h.mu.Unlock()
		for _, m := range batch {
			h.ledger.Hash(m)
		}
		done := len(batch) * costBeside
		for i := range batch {
			done += batch[i].Size()
		}
		clear(batch)
		h.mu.Lock()
		h.bytes -= done
		h.changed.Broadcast()
	}
	h.active.Store(false)
	h.waiting = nil
	h.changed.Broadcast()
	h.mu.Unlock()
}

// wait returns when all is hashed.
func (h *hashQueue) wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.active.Load() {
		h.changed.Wait()
	}
}
