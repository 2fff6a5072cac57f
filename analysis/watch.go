package analysis

import (
	"metasim/metasim"
	"metasim/record/journal"
)

// A watch says how much of the time in which a client was authorized it computed. Where its reports tell, that is what
// they tell, less what they waited for a core; else it is all of that time, transport included.
//
// What a client sends reaches the dispatcher before the report that tells how long it took, but in the same pass, unless it
// is very much: so a pass is read as a whole before any of it is looked at.
type watch struct {
	since int64     // wall clock up to which its work is accounted for
	laps  fifo[lap] // what the reports of this pass tell
	timed bool      // its reports tell
	taken bool      // the first of laps is accounted for
	cores corewatch
}

// lap notes how long a client computed, ahead of the report's turn.
func (t *tracer) lap(ev metasim.Event) error {
	id, ok := journal.ClientOf(ev)
	if !ok {
		return nil
	}
	if int(id) >= len(t.clients) {
		return ErrForeign
	}
	w := &t.clients[id].watch
	var r *metasim.Report
	l := lap{}
	switch ev := ev.(type) {
	case *metasim.Advance:
		r = &ev.Report
	case *metasim.PollWait:
		r, l.last = &ev.Report, true
	default:
		return nil
	}
	l.computed, l.cpu = max(0, r.Computed), max(0, r.CPU)
	w.laps.push(l)
	w.timed = w.timed || l.computed > 0
	t.log.timed = t.log.timed || w.timed
	t.tl.stats.clients[id].cpu += l.cpu
	return nil
}

// measure returns since when a client has computed, how long it took for that, and how much of it was work: the rest it
// waited for a core.
func (t *tracer) measure(c *trace) (begin, took, work int64) {
	w := &c.watch
	if !c.running {
		return t.wall, 0, 0
	}
	if !w.timed {
		return w.since, t.wall - w.since, t.wall - w.since
	}
	if l := w.laps.first(); l != nil && !w.taken {
		w.taken = true
		took = min(l.computed, t.wall-w.since)
		work = w.cores.work(*l, took, t.profile.crowded, t.profile.running, t.src.Cores)
	}
	return w.since, took, work
}

// endLap ends what a report told of.
func (w *watch) endLap() {
	w.laps.pop()
	w.taken = false
}
