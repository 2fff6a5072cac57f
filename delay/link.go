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

	load Load            // of the line
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

// Steady is what metasim.Link asks for: a link without bandwidth and order has no state.
func (l *link) Steady() bool { return l.spec.Bandwidth == 0 && l.spec.Order != FIFO }

// Earliest implements metasim.Link: a message of no bytes sent at x leaves when the line is free, travels for as long as
// the next one that arrives will, where that is known, or else for the least delay, and waits for the last arrival. The
// comment of foresight says why that never falls.
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
func (l *link) wait(x metasim.Instant) metasim.Time { return max(l.load.Free-x.Time, 0) }

// transmit puts a message on the line, and returns how long after its sending the last bit is on it.
func (l *link) transmit(sent metasim.Instant, size int) metasim.Time {
	if l.spec.Bandwidth == 0 {
		return 0
	}
	takes := l.spec.Bandwidth.Transmission(size)
	onLine := l.wait(sent).Add(takes)
	l.load.Free = sent.Time.Add(onLine)
	l.load.add(sent.Time, takes)
	return onLine
}

// Load implements Line.
func (l *link) Load() Load {
	load := l.load
	load.Bandwidth = l.spec.Bandwidth
	return load
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

// A foresight is what a link has drawn for messages that are not sent yet. As draws are keyed by the number of a message, it is
// known before the message exists whether it is lost, and how long it travels.
//
// On an ordered link that is worth much. Let a be the next message that is not lost, t how long it travels, and x a bound
// of its sending. It leaves the line at w(x) = max(x, free) or later, so it arrives at
//
//	Earliest(x) = max(last, w(x) + t)
//
// or later, and every message sent behind it waits for it: this bounds all that arrive. Its lookahead is the real delay
// instead of the least one. (A second copy comes behind the first one; the size is not known, so it counts as none.)
//
// It never falls as x rises, as w does not. It never falls as a message is sent at s, for any x at or before s, and no
// others are asked for again, as a sender's bound is never after what it sends:
//   - If the message is lost, a is as before, and free has not fallen.
//   - If it is a, then last becomes max(last, w(s) + its time on the line + t), and that is Earliest(x) or later. From then
//     on it stands in for a: the t of the next one may well be less.
//
// For an x after s it may fall: a is gone, and what is sent at x may travel for less.
//
// An ordered link draws no further ahead than it has to, and where horizon messages in a row are lost it knows the least
// delay alone. When it comes to know more, the bound only rises. Without order the next but one may overtake the next
// one, so that nothing is gained, and nothing is drawn.
type foresight struct {
	next      uint64       // the number of the next message
	decided   uint64       // every message before this one is drawn; of those from next on all are lost, but the last is not
	arrives   bool         // where this is set
	travelled metasim.Time // how long the last one travels, if it arrives
}

// horizon is how many lost messages in a row a link looks past.
const horizon = 16

// decide draws whether one more message is lost, and how long it travels.
func (l *link) decide() {
	n := l.decided
	l.decided++
	l.arrives = true
	if l.drop != nil {
		l.streams[forLoss].begin(l.src, n)
		l.arrives = !l.drop()
	}
	if l.arrives {
		l.travelled = l.draw(forTravel, n)
	}
}

// lose reports whether message n is lost. It is asked for each message in order. If it is not lost, travelled is how long it
// travels.
func (l *link) lose(n uint64) bool {
	if l.decided <= n {
		l.decide()
	}
	return !l.arrives || n != l.decided-1
}

// foresee returns how long the next message that arrives travels at least.
func (l *link) foresee() metasim.Time {
	if l.spec.Order != FIFO {
		return l.min
	}
	for l.decided <= l.next || !l.arrives {
		if l.decided == l.next+horizon {
			return l.min
		}
		l.decide()
	}
	return l.travelled
}
