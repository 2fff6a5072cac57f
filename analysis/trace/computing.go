package trace

import (
	"metasim/internal/fifo"
	"metasim/metasim"
)

// A stopwatch says how long a client computed while it was authorized. If the client's reports say it, that is the time that they
// say, without the time in which it waited for a core. Otherwise it is the whole time, with transport.
//
// A client's sends reach the dispatcher before the report that says how long they took, but in the same pass, unless there are
// very many. So the tracer reads the reports of a pass before it handles any of its entries.
type stopwatch struct {
	since int64           // up to this time the client's work is counted
	laps  fifo.Queue[lap] // of the reports of this pass
	timed bool            // its reports say how long it computed
	taken bool            // the first of laps has been counted
	cores coreWaits
}

// A lap is what one report says about computing.
type lap struct {
	computed int64 // wall-clock nanoseconds since the report before
	cpu      int64 // processor time since the client was authorized; 0: not known
	last     bool  // of the grant: the client waits now
}

// lap reads the times of a report before its turn.
func (t *tracer) lap(ev metasim.Event) {
	var id metasim.ClientID
	var r *metasim.Report
	l := lap{}
	switch ev := ev.(type) {
	case *metasim.Advance:
		id, r = ev.Client, &ev.Report
	case *metasim.PollWait:
		id, r, l.last = ev.Client, &ev.Report, true
	default:
		return
	}
	w := &t.clients[id].stopwatch
	l.computed, l.cpu = max(0, r.Computed), max(0, r.CPU)
	w.laps.Push(l)
	w.timed = w.timed || l.computed > 0
	t.tl.Log.Timed = t.tl.Log.Timed || w.timed
	t.tl.Totals.Clients[id].CPU += l.cpu
}

// measure returns since when a client has computed, for how long, and how much of that was work. The rest it waited for a core.
func (t *tracer) measure(c *client) (begin, took, work int64) {
	w := &c.stopwatch
	if !c.running {
		return t.wall, 0, 0
	}
	if !w.timed {
		return w.since, t.wall - w.since, t.wall - w.since
	}
	if l := w.laps.First(); l != nil && !w.taken {
		w.taken = true
		took = min(l.computed, t.wall-w.since)
		work = w.cores.work(*l, took, t.profile.crowded, t.profile.running, t.src.Cores)
	}
	return w.since, took, work
}

// endLap drops the first lap.
func (w *stopwatch) endLap() {
	w.laps.Drop(1)
	w.taken = false
}

// A coreWaits separates a client's work from its waiting for a core.
//
// A client reports the wall-clock time in which it computed. At the end of a grant it also reports the processor time of its
// process, if it has the process to itself. The difference is the time without a core: the client slept, or it waited for a core. It
// waited at most for as long as there were more running clients than cores. So the work is never more than the cores can do,
// however they were shared.
//
// What is reported before the end of a grant is estimated from earlier grants. The error is corrected at the end of the grant.
type coreWaits struct {
	due     int64 // work of the grants that have ended
	given   int64 // work that has been returned, including that of the current grant
	clock   int64 // wall-clock time of the current grant
	crowd   int64 // the part of clock in which there were more running clients than cores
	crowded int64 // profile.crowded at the last call

	tells       bool  // the client has reported processor time
	lost, might int64 // in grants with processor time: waited for a core, and the most that it can have waited
}

// A client that takes less than 1/sleeping of its fair share of the cores sleeps, or waits for a device: it does not wait for a core.
const sleeping = 16

// begin starts a grant.
func (w *coreWaits) begin(crowded int64) { w.clock, w.crowd, w.crowded = 0, 0, crowded }

// work returns how much of a lap was work. The lap took so long by the clock, with so many running clients on so many cores.
func (w *coreWaits) work(l lap, took, crowded int64, running, cores int) int64 {
	w.clock += took
	w.crowd += min(took, crowded-w.crowded)
	w.crowded = crowded
	work := w.clock - w.estimate(running, cores)
	if l.last {
		if l.cpu > 0 {
			work = w.end(l.cpu, running, cores)
		}
		w.due += work
		work = 0
	}
	got := max(0, min(took, w.due+work-w.given))
	w.given += got
	if l.last {
		w.clock, w.crowd = 0, 0
	}
	return got
}

// estimate returns how long the client has probably waited for a core in the current grant. It uses the client's earlier grants and,
// as far as those are short in comparison, the fair share of the cores. It returns zero for a client that never reported processor
// time: a client in the server's process has a core when it begins to compute.
func (w *coreWaits) estimate(running, cores int) int64 {
	if !w.tells || w.crowd == 0 {
		return 0
	}
	crowd, shared := float64(w.crowd), 1-float64(cores)/float64(max(cores, running))
	return int64(crowd * (float64(w.lost) + shared*crowd) / (float64(w.might) + crowd))
}

// end returns the work of a grant whose processor time is known.
func (w *coreWaits) end(cpu int64, running, cores int) int64 {
	cpu = min(cpu, w.clock)
	fair := float64(w.clock) * min(1, float64(cores)/float64(max(1, running)))
	lost := min(w.clock-cpu, w.crowd)
	if float64(cpu)*sleeping < fair {
		lost = 0
	}
	w.tells = true
	w.lost += lost
	w.might += w.crowd
	return w.clock - lost
}
