package client

import (
	"time"

	"metasim/client/internal/sched"
	"metasim/wire/session"
)

// How long a stretch is, in nanoseconds, before the next ones are worth a closer look. From longTime on the processor time of the process is
// looked up, which takes two system calls of a microsecond or so each. From slowTime on the time without a core is looked up too,
// which takes one for each thread. A client that goes on for cutTime says so before it waits: it may not wait until the end of the run.
const (
	longTime = 100_000
	cutTime  = 1_000_000
	slowTime = 2_000_000
)

const (
	lookPrice     = longTime / 50 // at the processor time
	slowLookPrice = slowTime / 50 // at the time without a core
	mostLooks     = 8             // that are paid for at any time
)

// pay pays for looks with a stretch, if it was long enough for one.
func (l *looks) pay(took, price int64) {
	if took >= 50*price {
		*l = looks(min(mostLooks*price, int64(*l)+took/50))
	}
}

// take takes a look that was paid for; false if none was.
func (l *looks) take(price looks) bool {
	if *l < price {
		return false
	}
	*l -= price
	return true
}

// shortTime, in nanoseconds: shorter times are carried over to the next report, so that reports stay byte-identical for the
// decoder's cache. The first report is never zero: it shows that timing is on.
const shortTime = 1000

// start begins to measure. If coreWait is set, the client also measures for how long it waits for a core, as its server has asked.
func (w *stopwatch) start(alone, coreWait bool) {
	w.began, w.alone, w.coreWait = time.Now(), alone, alone && coreWait
	w.stretch.long, w.stretch.slow = lookPrice, slowLookPrice
	w.begin()
}

// begin begins a stretch now.
func (w *stopwatch) begin() {
	s := &w.stretch
	s.began = w.since
	if w.alone && s.long.take(lookPrice) {
		s.spent, s.timed = processTime()
	}
	if w.coreWait && s.slow.take(slowLookPrice) {
		s.marked = w.threads.mark()
	}
}

// end ends a stretch at the last lap, and adds what it was to the lap.
func (w *stopwatch) end(lap *session.Work) {
	s := &w.stretch
	took := w.since - s.began
	s.long.pay(took, lookPrice)
	s.slow.pay(took, slowLookPrice)
	if s.timed {
		now, _ := processTime()
		lap.CPU, s.timed = now-s.spent, false
	}
	if s.marked {
		waited, spent := w.threads.sinceMark()
		if lap.CPU > 0 && lap.CPU < took/2 {
			// It waited for most of the time. Meanwhile other threads of a Go process look for work, for much longer than the client computes.
			lap.CPU = max(1, min(lap.CPU, spent)) // at least 1: it is known
		}
		lap.CoreWait, s.marked = max(1, waited), false // at least 1: it is known
	}
}

// lap returns what was computed since the last lap, or the last resume. It tells the task how long its turn has taken so far,
// so that the scheduler need not look at the clock once more.
func (w *stopwatch) lap(task *sched.Task) (lap session.Work) {
	if w.began.IsZero() {
		return lap
	}
	now := int64(time.Since(w.began))
	if task != nil {
		task.Took(time.Duration(now) - task.Began.Sub(w.began))
	}
	w.owed, w.since = w.owed+now-w.since, now
	if w.owed < shortTime && w.told {
		return lap
	}
	lap.Computed, w.owed, w.told = max(1, w.owed), 0, true
	return lap
}

// cut ends a stretch that has become long at the last lap, which says so, and begins the next one.
func (w *stopwatch) cut(lap *session.Work) {
	if w.alone && w.since-w.stretch.began >= cutTime {
		w.end(lap)
		w.begin()
	}
}

// pause ends the stretch, right after its last lap: the client waits.
func (w *stopwatch) pause(lap *session.Work) {
	if !w.began.IsZero() {
		w.end(lap)
	}
}

// resume says that the wait is over. A client with a task went on when the task's turn began, which the scheduler has looked
// up; where it had no need to give up its turn, it goes on now, after what the dispatcher did in the meantime.
func (w *stopwatch) resume(task *sched.Task) {
	if w.began.IsZero() {
		return
	}
	if task != nil {
		if turn := int64(task.Began.Sub(w.began)); turn > w.since {
			w.since = turn
			return
		}
	}
	w.since = int64(time.Since(w.began))
	if task == nil {
		w.begin()
	}
}

// skip leaves out what passed since the last lap: the client wrote, and inside the server's process a write may do the
// dispatcher's work.
func (w *stopwatch) skip() {
	if !w.began.IsZero() {
		w.since = int64(time.Since(w.began))
	}
}
