package analysis

import "metasim/metasim"

// A client that goes on reports each instant at which it acts; but a report that nobody needed yet gives way to the next one.
// So between two instants that a client told of there may be more, which a run with shorter delays would hear of. What is
// known is when it was to act next, as of the first of the two, and how far off that is of this client on average.

// A habit is how far ahead a client announces what it does next.
type habit struct {
	goes  spans // of instants after which it went on
	waits spans // ... and waited: that was as the next one is far, so these are for want of others
}

func (h *habit) note(at, next metasim.Instant, waited bool) {
	if next == metasim.Infinity || !at.Before(next) {
		return
	}
	s := &h.goes
	if waited {
		s = &h.waits
	}
	d := float64(next.Time - at.Time)
	s.count, s.sum, s.squares = s.count+1, s.sum+d, s.squares+d*d
}

func (h *habit) known() *spans {
	if h.goes.sum > 0 {
		return &h.goes
	}
	return &h.waits
}

// Spans are simulated times, in nanoseconds, of which only sums are kept.
type spans struct{ count, sum, squares float64 }

// after is when a client that acts at an instant is likely to act again; Infinity where nobody knows.
func (s *spans) after(at metasim.Instant) metasim.Instant {
	if s.sum == 0 {
		return metasim.Infinity
	}
	return metasim.At(at.Time.Add(metasim.Time(s.sum / s.count)))
}

// within is how often a client acts between two instants at which it does that are so far apart. Where its spans are all the
// same that is one less than there are of them; where they are as irregular as can be, the two say nothing of it.
func (s *spans) within(d metasim.Time) int {
	if s.sum == 0 || d <= 1 {
		return 0
	}
	regular := max(0, 2-s.squares*s.count/(s.sum*s.sum)) // 1 less the variance, in units of the mean's square
	return int(min(float64(d)*s.count/s.sum-regular+0.5, float64(d-1), maxUntold))
}

// maxUntold is how many instants between two that a client told of are made up at most.
const maxUntold = 100

// untold notes what a client did between the last instant that it told of and this one, and returns how much of its work
// that was.
func (l *worklog) untold(t *tracer, id metasim.ClientID, at metasim.Instant, worked int64) int64 {
	c, me := &l.clients[id], &t.clients[id]
	n := len(c.acts)
	if n == 0 || !c.acts[n-1].at.Before(at) {
		return 0
	}
	last := c.acts[n-1]
	c.habit.note(last.at, last.next, c.waited)
	a := act{at: last.next, wall: t.wall, timed: true, sends: last.sends}
	switch {
	case c.messages && me.hears && last.at.Before(me.heard) && me.heard.Before(last.next):
		a.at, a.timed, a.cause, a.next = me.heard, false, me.last, last.next
	case !c.messages && last.next == metasim.Infinity: // it steps
		a.at = c.habit.known().after(last.at)
	}
	if !last.at.Before(a.at) || !a.at.Before(at) {
		return 0
	}
	rest := at.Time - a.at.Time
	more := max(0, c.habit.known().within(rest))
	a.work = worked / int64(more+2)
	for i := range more + 1 {
		if i > 0 {
			a.at, a.timed = metasim.At(at.Time-rest+rest*metasim.Time(i)/metasim.Time(more+1)), true
		}
		if a.timed {
			c.announce(a.at)
		}
		a.floor = a.at
		c.acts = append(c.acts, a)
	}
	c.waited = false
	l.room -= more + 1
	return a.work * int64(more+1)
}

// announce has the last act of a client announce the next one; who steps promises to send nothing before.
func (c *clientLog) announce(at metasim.Instant) {
	last := &c.acts[len(c.acts)-1]
	last.next = at
	if !c.messages {
		last.floor = metasim.Later(last.floor, at)
	}
}
