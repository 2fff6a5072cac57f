package delay

import "metasim/metasim"

// A foresight is what a link has drawn of messages that are not sent yet. As draws are keyed by the number of a message,
// its fate is settled before it exists: whether it is lost, and how long it travels.
//
// On an ordered link that is worth much. Let a be the next message that is not lost, t how long it travels, and x a bound
// of its sending. It leaves the line at w(x) = max(x, free) or later, so it arrives at
//
//	Earliest(x) = max(last, w(x) + t)
//
// or later, and whoever is sent behind it waits for it: this bounds all that arrive. Its lookahead is the real delay
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
	decided   uint64       // the fate of every message before this one is drawn; of those from next on, all are lost but the last,
	arrives   bool         // if this is set
	travelled metasim.Time // how long the last one travels, if it arrives
}

// horizon is how many lost messages in a row a link looks past.
const horizon = 16

// decide draws the fate of one more message.
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

// lose reports whether message n is lost. It is asked of each in order. Of one that is not, travelled is how long it
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
