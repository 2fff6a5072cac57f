package session

import (
	"metasim/internal/pq"
	"metasim/metasim"
)

// Stop makes the timer fire no more. Its own handler may call it.
func (t *Timer) Stop() {
	t.period = 0
	if t.index >= 0 {
		t.owner.queue.Remove(t.index)
	}
}

func newTimers() timers {
	return timers{queue: pq.Queue[*Timer]{
		Less: func(a, b **Timer) bool {
			if (*a).at != (*b).at {
				return (*a).at.Before((*b).at)
			}
			return (*a).number < (*b).number
		},
		Moved: func(t **Timer, index int) { (*t).index = index },
	}}
}

func (ts *timers) set(at metasim.Instant, period metasim.Time, call func()) *Timer {
	t := &Timer{at: at, period: period, call: call, owner: ts}
	ts.push(t)
	return t
}

func (ts *timers) push(t *Timer) {
	t.number = ts.number
	ts.number++
	ts.queue.Push(t)
}

// next returns the instant of the next timer, Infinity if there is none.
func (ts *timers) next() metasim.Instant {
	first := ts.queue.First()
	if first == nil {
		return metasim.Infinity
	}
	return (*first).at
}
