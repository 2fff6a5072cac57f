package client

import "time"

// A stopwatch measures for how long a client computes: from when it may go on to when it waits, by the clock, and by the
// processor time of its process where that is its own. It is off, and costs nothing, unless the server asks for it.
//
// What it shows is for reports on how parallel a run was. It reaches no result.
type stopwatch struct {
	began time.Time // of the run, for this client; zero: it is off
	alone bool      // nobody else is in the process, so that its processor time is the client's
	since int64     // when the client went on, or reported last; nanoseconds from the beginning
	owed  int64     // computed, and not worth saying yet
	went  int64     // when it went on
	long  bool      // it computed for long the last time: its processor time is worth a look
	told  bool      // it has said something: then a report that says nothing means that it is not worth saying
	based bool      // spent is known
	spent int64     // of processor time when it went on, in nanoseconds
}

// long is for how long, in nanoseconds, a client computes that is asked for its processor time the next time: two system
// calls, of a microsecond or so each.
const long = 100_000

// slightly is so little, in nanoseconds, that it waits for the next report: reports that are the same cost less to read. Only
// the first report says in any case that somebody measures.
const slightly = 1000

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

// lap returns what was computed since the last lap, or the last resume. Of a client of a crew it is also what its turn took
// so far, so that the crew need not look at the clock once more.
func (w *stopwatch) lap(s *seat) (computed int64) {
	if w.began.IsZero() {
		return 0
	}
	now := int64(time.Since(w.began))
	if s != nil {
		s.took = time.Duration(now) - s.began.Sub(w.began)
	}
	w.owed, w.since = w.owed+now-w.since, now
	if w.owed < slightly && w.told {
		return 0
	}
	computed, w.owed, w.told = max(1, w.owed), 0, true
	return computed
}

// pause returns the processor time that was taken since the last resume, and is called right after a lap; 0 where nobody
// looked.
func (w *stopwatch) pause() (cpu int64) {
	w.long = w.since-w.went >= long
	if w.based {
		now, _ := processTime()
		cpu, w.based = now-w.spent, false
	}
	return cpu
}

// resume says that the wait is over. A client of a crew went on when its turn began, which the crew has looked up; where it
// had no need to give up its turn, it goes on now, after what the dispatcher did in the meantime.
func (w *stopwatch) resume(s *seat) {
	if w.began.IsZero() {
		return
	}
	if s != nil {
		if turn := int64(s.began.Sub(w.began)); turn > w.since {
			w.since = turn
			return
		}
	}
	w.since = int64(time.Since(w.began))
	if s == nil {
		w.went = w.since
		w.base()
	}
}

// skip leaves out what passed since the last lap: the client wrote, and inside the server's process whoever writes may do
// the dispatcher's work.
func (w *stopwatch) skip() {
	if !w.began.IsZero() {
		w.since = int64(time.Since(w.began))
	}
}
