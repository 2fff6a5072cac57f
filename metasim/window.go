package metasim

import (
	"slices"

	"metasim/internal/fifo"
)

// deliveryOverhead is what a delivery counts beside its payload, in bytes, so that empty messages cannot pile up without end.
const deliveryOverhead = 64

// A Window holds what a client was given and has not acknowledged. Deliveries are numbered from 1, in order. The zero value
// is the window of a client that was given nothing.
type Window struct {
	given fifo.Queue[given]
	size  int    // bytes, as Config.Ahead counts them
	last  uint64 // number of the last delivery
}

// given is one delivery that its recipient has not acknowledged.
type given struct {
	due  Instant
	size int
}

// Give adds a delivery with so many bytes of payload, and returns its number.
func (w *Window) Give(due Instant, payload int) uint64 {
	g := given{due: due, size: payload + deliveryOverhead}
	w.given.Push(g)
	w.size += g.size
	w.last++
	return w.last
}

// Skip makes an empty window go on after the delivery with this number.
func (w *Window) Skip(number uint64) { w.last = number }

// Acknowledge removes the deliveries up to the one with this number. It reports false for a number that is less than the
// last one acknowledged or greater than the last one given, and removes nothing then.
func (w *Window) Acknowledge(number uint64) bool {
	acked := w.Acked()
	if number < acked || number > w.last {
		return false
	}
	n := int(number - acked)
	for _, g := range w.given.All()[:n] {
		w.size -= g.size
	}
	w.given.Drop(n)
	return true
}

// Size returns how many bytes are in the window, as Config.Ahead counts them.
func (w *Window) Size() int { return w.size }

// Last returns the number of the last delivery that was given; 0 if there was none.
func (w *Window) Last() uint64 { return w.last }

// Acked returns the number of the last delivery that was acknowledged; 0 if there was none.
func (w *Window) Acked() uint64 { return w.last - uint64(w.given.Len()) }

// DueBy returns the number of the last delivery that was due at an instant or before.
func (w *Window) DueBy(now Instant) uint64 {
	n, _ := slices.BinarySearchFunc(w.given.All(), now, func(g given, now Instant) int {
		if now.Before(g.due) {
			return 1
		}
		return -1
	})
	return w.Acked() + uint64(n)
}

// Answers reports whether a client that waits needs no further authorization: what it waits for lies before granted, up to
// where it is authorized, or a message that wakes it is in its window, or the run ends at granted.
func (w *Window) Answers(ev *PollWait, granted, end Instant) bool {
	return ev.Want.Before(granted) || ev.Messages && w.given.Len() > 0 || granted == end
}

// first is when the earliest delivery that is not acknowledged was due; Infinity if there is none.
func (w *Window) first() Instant {
	if g := w.given.First(); g != nil {
		return g.due
	}
	return Infinity
}

// split reports whether a delivery that is due at an instant would leave a part of that instant behind: whether the last one
// that was given and is not acknowledged is due then, too.
func (w *Window) split(due Instant) bool {
	given := w.given.All()
	return len(given) > 0 && !given[len(given)-1].due.Before(due)
}
