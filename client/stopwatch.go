package client

import (
	"time"

	"metasim/client/internal/sched"
)

// longTime, in nanoseconds: the processor time of a client that has computed for so long is looked up the next time. That
// takes two system calls, of a microsecond or so each.
const longTime = 100_000

// shortTime, in nanoseconds: shorter times are carried over to the next report, so that reports stay byte-identical for the
// decoder's cache. The first report is never zero: it shows that timing is on.
const shortTime = 1000

// start turns it on.
func (w *stopwatch) start(alone bool) {
	w.began, w.alone, w.long = time.Now(), alone, true
	w.base()
}

// base notes how much processor time was spent before the client goes on.
func (w *stopwatch) base() {
	if w.alone && w.long {
		w.spent, w.based = processTime()
	}
}

// lap returns what was computed since the last lap, or the last resume. It tells the task how long its turn has taken so far,
// so that the scheduler need not look at the clock once more.
func (w *stopwatch) lap(task *sched.Task) (computed int64) {
	if w.began.IsZero() {
		return 0
	}
	now := int64(time.Since(w.began))
	if task != nil {
		task.Took(time.Duration(now) - task.Began.Sub(w.began))
	}
	w.owed, w.since = w.owed+now-w.since, now
	if w.owed < shortTime && w.told {
		return 0
	}
	computed, w.owed, w.told = max(1, w.owed), 0, true
	return computed
}

// pause returns the processor time that was taken since the last resume; 0 where it is not known. It is called right after
// a lap.
func (w *stopwatch) pause() (cpu int64) {
	w.long = w.since-w.went >= longTime
	if w.based {
		now, _ := processTime()
		cpu, w.based = now-w.spent, false
	}
	return cpu
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
		w.went = w.since
		w.base()
	}
}

// skip leaves out what passed since the last lap: the client wrote, and inside the server's process a write may do the
// dispatcher's work.
func (w *stopwatch) skip() {
	if !w.began.IsZero() {
		w.since = int64(time.Since(w.began))
	}
}
