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

	passing int64 // the least that a grant took beyond what the client computed: authorization and report were on their way
	passed  bool  // passing is known
}

// A lap is what one report says about computing.
type lap struct {
	computed int64 // wall-clock nanoseconds since the report before
	cpu      int64 // processor time since the report before that says it, or since the client was authorized; 0: not known
	waited   int64 // for a core in the same time; 0: not known
	last     bool  // of the grant: the client waits now
	leaves   bool  // there is no report, as the client leaves
}

// A stint is what a client did between two of its events.
type stint struct {
	took   int64 // by the clock
	work   int64 // without the time in which it waited for a core
	asleep int64 // the part of work that took no core: it slept, or waited for a device
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
	case *metasim.Leave:
		if !ev.Cut {
			t.clients[ev.Client].laps.Push(lap{last: true, leaves: true})
		}
		return
	default:
		return
	}
	w := &t.clients[id].stopwatch
	l.computed, l.cpu, l.waited = max(0, r.Computed), max(0, r.CPU), max(0, r.CoreWait)
	w.laps.Push(l)
	w.timed = w.timed || l.computed > 0
	t.tl.Log.Timed = t.tl.Log.Timed || w.timed
	t.tl.Totals.Clients[id].CPU += l.cpu
}

// measure returns since when a client has computed, and what it did since.
func (t *tracer) measure(c *client) (begin int64, did stint) {
	w := &c.stopwatch
	if !c.running {
		return t.wall, stint{}
	}
	if !w.timed {
		return w.since, stint{took: t.wall - w.since, work: t.wall - w.since}
	}
	if l := w.laps.First(); l != nil && !w.taken {
		w.taken = true
		did.took = min(w.told(l, t.wall-w.since), t.wall-w.since)
		did.work, did.asleep = w.cores.work(*l, did.took, t.profile.crowded, t.profile.running, t.src.Cores)
	}
	return w.since, did
}

// told returns what a lap that ends now says, so many nanoseconds after it began. A client that leaves does not say how long its last act took:
// the whole time, but for what authorizations and reports take on their way.
func (w *stopwatch) told(l *lap, since int64) int64 {
	switch spare := since - l.computed; {
	case l.leaves && w.passed:
		return max(0, since-w.passing)
	case l.last && !l.leaves && (!w.passed || spare < w.passing):
		w.passing, w.passed = max(0, spare), true
	}
	return l.computed
}

// endLap drops the first lap.
func (w *stopwatch) endLap() {
	w.laps.Drop(1)
	w.taken = false
}

// A coreWaits separates a client's work from its waiting for a core, and in the work computing from sleeping.
//
// A client reports the wall-clock time in which it computed. At the end of a grant, and where a grant is long, it also reports the
// processor time of its process, if it has the process to itself, and how long it waited for a core. The rest of the time it slept,
// or waited for a device. If it does not know how long it waited for a core, it waited at most for as long as there were more running
// clients than cores. So the work is never more than the cores can do, however they were shared.
//
// What is reported before is estimated from earlier stretches between two reports of processor time. The error is corrected at the next one.
type coreWaits struct {
	due, given             int64 // work of the stretches that have ended; work that has been returned, with that of the current stretch
	dueAsleep, givenAsleep int64 // the same for the part that took no core
	clock                  int64 // wall-clock time of the current stretch
	crowd                  int64 // the part of clock in which there were more running clients than cores
	crowded                int64 // profile.crowded at the last call

	tells       bool  // the client has reported processor time
	lost, might int64 // in stretches with processor time: waited for a core, and the most that it can have waited
	did, slept  int64 // in the same: work, and the part of it that took no core
}

// A client that takes less than 1/sleeping of its fair share of the cores sleeps, or waits for a device: it does not wait for a core.
const sleeping = 16

// begin starts a grant.
func (w *coreWaits) begin(crowded int64) { w.clock, w.crowd, w.crowded = 0, 0, crowded }

// work returns how much of a lap was work, and how much of that took no core. The lap took so long by the clock, with so many running
// clients on so many cores.
func (w *coreWaits) work(l lap, took, crowded int64, running, cores int) (work, asleep int64) {
	w.clock += took
	w.crowd += min(took, crowded-w.crowded)
	w.crowded = crowded
	work = w.clock - w.estimate(running, cores)
	asleep = w.estimateAsleep(work)
	ends := l.last || l.cpu > 0
	if ends {
		if l.cpu > 0 {
			work, asleep = w.end(l, running, cores)
		}
		w.due += work
		w.dueAsleep += asleep
		work, asleep = 0, 0
	}
	work = max(0, min(took, w.due+work-w.given))
	asleep = max(0, min(work, w.dueAsleep+asleep-w.givenAsleep))
	w.given += work
	w.givenAsleep += asleep
	if ends {
		w.clock, w.crowd = 0, 0
	}
	return work, asleep
}

// estimate returns how long the client has probably waited for a core in the current stretch. It uses the client's earlier stretches and,
// as far as those are short in comparison, the fair share of the cores. It returns zero for a client that never reported processor
// time: a client in the server's process has a core when it begins to compute.
func (w *coreWaits) estimate(running, cores int) int64 {
	if !w.tells || w.crowd == 0 {
		return 0
	}
	crowd, shared := float64(w.crowd), 1-float64(cores)/float64(max(cores, running))
	return int64(crowd * (float64(w.lost) + shared*crowd) / (float64(w.might) + crowd))
}

// estimateAsleep returns for how much of its work the client has probably slept, as it did before.
func (w *coreWaits) estimateAsleep(work int64) int64 {
	return int64(float64(work) * float64(w.slept) / float64(max(1, w.did)))
}

// end returns the work of a stretch whose processor time is known, and how much of it took no core.
func (w *coreWaits) end(l lap, running, cores int) (work, asleep int64) {
	cpu := min(l.cpu, w.clock)
	lost := min(w.clock-cpu, l.waited)
	if l.waited == 0 {
		fair := float64(w.clock) * min(1, float64(cores)/float64(max(1, running)))
		lost = min(w.clock-cpu, w.crowd)
		if float64(cpu)*sleeping < fair {
			lost = 0
		}
	}
	work, asleep = w.clock-lost, w.clock-lost-cpu
	w.tells = true
	w.lost += lost
	w.might += w.crowd
	w.did += work
	w.slept += asleep
	return work, asleep
}
