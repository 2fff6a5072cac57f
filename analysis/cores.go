package analysis

// A corewatch tells what a client computed from what it waited for a core meanwhile.
//
// A client says for how long it computed by the clock, and, at the end of a grant, how much processor time its process
// took, where nobody else is in it. What it computed without a core it slept, or it waited for one: the latter, as far as
// meanwhile more clients might compute than there are cores. So what is left as work is never more than the cores can do,
// however they were shared out.
//
// What is said before the end of a grant is judged by the grants before; what that was wrong by is made up for at the end.
type corewatch struct {
	due     int64 // work of the grants that have ended
	given   int64 // ... and of what follows, as far as it is accounted for
	clock   int64 // computed in the present grant, by the clock
	crowd   int64 // of which so much while there were more clients than cores
	crowded int64 // of the profile, as of the last look

	tells       bool
	lost, might int64 // waited for a core, and could have at most, in the grants that have told
}

// A lap is what one report tells.
type lap struct {
	computed int64 // by the clock, since the report before
	cpu      int64 // processor time since the client went on; 0: not known
	last     bool  // of the grant: the client waits now
}

// asleep is how little processor time makes a client one that does not compute but sleeps, or waits for a device: a
// sixteenth of what it would have had as one of all that shared the cores.
const asleep = 16

// begin notes that the client goes on.
func (w *corewatch) begin(crowded int64) { w.clock, w.crowd, w.crowded = 0, 0, crowded }

// work returns how much of a lap was work: the client took so long for it by the clock, while so many clients might compute
// on so many cores.
func (w *corewatch) work(l lap, took, crowded int64, running, cores int) int64 {
	w.clock += took
	w.crowd += min(took, crowded-w.crowded)
	w.crowded = crowded
	work := w.clock - w.waits(running, cores)
	if l.last {
		if l.cpu > 0 {
			work = w.tell(l.cpu, running, cores)
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

// waits guesses how much of the present grant was waiting for a core: by the grants that have told and, as far as those are
// short against it, by what everybody has who shares the cores. Of a client that never told it is nothing: who lives in the
// process of the server has a core when it begins to compute.
func (w *corewatch) waits(running, cores int) int64 {
	if !w.tells || w.crowd == 0 {
		return 0
	}
	crowd, shared := float64(w.crowd), 1-float64(cores)/float64(max(cores, running))
	return int64(crowd * (float64(w.lost) + shared*crowd) / (float64(w.might) + crowd))
}

// tell returns the work of a grant of which the processor time is known.
func (w *corewatch) tell(cpu int64, running, cores int) int64 {
	cpu = min(cpu, w.clock)
	fair := float64(w.clock) * min(1, float64(cores)/float64(max(1, running)))
	lost := min(w.clock-cpu, w.crowd)
	if float64(cpu)*asleep < fair {
		lost = 0
	}
	w.tells = true
	w.lost += lost
	w.might += w.crowd
	return w.clock - lost
}
