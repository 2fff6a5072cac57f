package delay

import (
	"math/rand/v2"

	"metasim/metasim"
)

// A link is a Spec at work on the messages of one (from, to, channel).
type link struct {
	spec    Spec
	min     metasim.Time
	streams [purposes]stream
	src     *rand.PCG // put at the beginning of a stream before every draw
	travel  sampler
	drop    dropper // nil: nothing is lost

	free metasim.Time    // when the line is free of all messages so far
	last metasim.Instant // FIFO: the latest arrival so far
	foresight
}

// newLink returns the link of a valid spec in its initial state.
func newLink(spec Spec, keys [purposes]stream) *link {
	if spec.Delay == nil {
		spec.Delay = Constant(0)
	}
	src := rand.NewPCG(0, 0)
	l := &link{spec: spec, min: spec.Min(), streams: keys, src: src, travel: spec.Delay.sampler(src)}
	if spec.Loss != nil {
		l.drop = spec.Loss.dropper(src)
	}
	return l
}

// Min implements metasim.Link.
func (l *link) Min() metasim.Time { return l.min }

// Steady implements metasim.SteadyLink: such a link has neither a line nor a memory.
func (l *link) Steady() bool { return l.spec.Bandwidth == 0 && l.spec.Order != FIFO }

// Earliest implements metasim.Link: a message of no bytes sent at x leaves when the line is free, travels for as long as
// the next one that arrives will, where that is known, or else for the least delay, and waits for the last arrival. Why
// that never falls: see foresight.
func (l *link) Earliest(x metasim.Instant) metasim.Instant {
	return metasim.Later(l.last, x.Add(l.wait(x).Add(l.foresee())))
}

// Transit implements metasim.Link.
func (l *link) Transit(dues []metasim.Instant, n uint64, sent metasim.Instant, size int) []metasim.Instant {
	onLine := l.transmit(sent, size)
	l.next = n + 1
	if l.lose(n) {
		return dues
	}
	dues = append(dues, l.arrive(sent, onLine.Add(l.travelled)))
	if l.duplicate(n) {
		dues = append(dues, l.arrive(sent, onLine.Add(l.draw(forCopy, n))))
	}
	return dues
}

// wait is how long a message sent at x waits until the line is free.
func (l *link) wait(x metasim.Instant) metasim.Time { return max(l.free-x.Time, 0) }

// transmit puts a message on the line, and returns how long after its sending the last bit is on it.
func (l *link) transmit(sent metasim.Instant, size int) metasim.Time {
	if l.spec.Bandwidth == 0 {
		return 0
	}
	onLine := l.wait(sent).Add(l.spec.Bandwidth.Transmission(size))
	l.free = sent.Time.Add(onLine)
	return onLine
}

func (l *link) duplicate(n uint64) bool {
	if l.spec.Duplicate == 0 {
		return false
	}
	l.streams[forDuplicate].begin(l.src, n)
	return unit(l.src) < l.spec.Duplicate
}

// draw draws how long a copy of message n travels.
func (l *link) draw(p purpose, n uint64) metasim.Time {
	l.streams[p].begin(l.src, n)
	return l.travel()
}

// arrive returns when a copy arrives that takes so long.
func (l *link) arrive(sent metasim.Instant, took metasim.Time) metasim.Instant {
	due := sent.Add(took)
	if l.spec.Order == FIFO {
		due = metasim.Later(l.last, due)
		l.last = due
	}
	return due
}
