package shm

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// spins bounds how often a wait looks again before it sleeps: each look takes 10 ns, so a microsecond in all. A longer
	// spin wins little where the peer runs, and loses everything where it waits for our processor.
	spins = 100
	// glance is how long a wait sleeps before it looks again unasked. Nothing honest needs it: it bounds what a peer
	// can do that stores to the word on which we sleep.
	glance = time.Second
)

// spinsHere is spins where there are more processors than the two processes that talk. With two the peer's own spin,
// the system and everybody else want the other one: there a microsecond of spin makes a round trip a fifth longer.
func spinsHere() int {
	if runtime.GOMAXPROCS(0) > 2 {
		return spins
	}
	return 0
}

// A wait is one wait for a ring to change. Its owner looks at the ring, calls once where nothing was found, and looks
// again: the first calls return soon, the next announces the sleep, the one after that sleeps.
type wait struct {
	word  *atomic.Uint32
	yield bool // let other goroutines run first
	spins int  // left
	armed bool

	glance time.Duration
}

// once waits until it is worth to look again, and at most until the deadline (zero: none).
func (w *wait) once(deadline time.Time) error {
	switch {
	case w.yield:
		w.yield = false
		runtime.Gosched()
		return nil
	case w.spins > 0:
		w.spins--
		return nil
	case !w.armed:
		w.word.Store(1)
		w.armed = true
		return nil
	}
	w.armed = false
	patience := w.glance
	if !deadline.IsZero() {
		patience = min(patience, max(time.Until(deadline), 1))
	}
	return sleep(w.word, 1, patience)
}

// end takes back the announcement, so that the peer does not wake somebody who is awake.
func (w *wait) end() {
	if w.armed {
		w.word.Store(0)
	}
}
