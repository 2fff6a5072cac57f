package server

import (
	"time"

	"metasim/metasim"
)

// timing is when each client did what, in time since Serve was called. It is for people: no result depends on it.
type timing struct {
	clients []clientTiming // by ClientID
	start   time.Duration  // when all had joined
	end     time.Duration  // when the run was over
	heard   uint64         // packets of clients

	recordFull  bool          // the run waits for an observer, see Deferred, since recordSince
	recordSince time.Duration //
	recordTime  time.Duration // for how long it has waited, without the wait that lasts
}

// clientTiming is when one client did what.
type clientTiming struct {
	conn    *connection    // nil before it has joined
	blocked time.Duration  // time that it waited for authorizations, without the wait that lasts
	since   time.Duration  // when it began to wait, or was last authorized
	heard   time.Duration  // when it last sent something
	end     time.Duration  // when it left, or the run ended
	said    metasim.Report // as far as it was more than before
	raised  int            // how often it has promised more since it came there
	waiting bool
	polled  bool // it has waited once: it has initialized
	short   bool // it waits for memory, since lacked
	lacked  time.Duration
	starved time.Duration // for how long it has waited for memory, without a wait that still goes on
	spent   time.Duration // what it computed, as it has reported: processor time where that is known

	restarts    int     // how often its process was replaced because it had died
	lives       int     // how often it was replaced at all
	awaited     int     // how often its relay was lost, and it was awaited
	checkpoints int     // that were kept of it
	unsaved     bool    // it was said that it makes none
	past        *memory // what is read for it to repeat; nil if it repeats nothing
}

// hear notes what a client says.
func (t *timing) hear(c *connection, ev metasim.Event, wall time.Duration) {
	id, said := metasim.ClientOf(ev)
	if !said { // Begin
		t.start = wall
		return
	}
	a := &t.clients[id]
	a.heard = wall
	t.heard++
	switch ev := ev.(type) {
	case *metasim.Send:
		c.repeats = 0
	case *metasim.Promise:
		c.repeat(!a.raises(ev.NoSendBefore))
	case *metasim.Advance:
		a.spends(&ev.Report)
		c.repeat(a.repeats(&ev.Report))
	case *metasim.PollWait:
		a.spends(&ev.Report)
		c.repeat(a.repeats(&ev.Report))
		a.waiting, a.polled, a.since = true, true, wall
	case *metasim.Leave:
		a.end = wall
	case *metasim.Join:
		a.conn, a.since = c, wall
		c.clients = append(c.clients, id)
	}
}

// spends takes what a client has computed since its last report.
func (a *clientTiming) spends(r *metasim.Report) {
	ns := r.CPU
	if ns == 0 {
		ns = r.Computed
	}
	a.spent += time.Duration(max(0, ns))
}

// repeats reports whether a client says only what it has said: it is no further, has taken in no more, and promises no more.
func (a *clientTiming) repeats(r *metasim.Report) bool {
	if a.said.Now.Before(r.Now) || a.said.Acked < r.Acked {
		a.said, a.raised = *r, 0
		return false
	}
	return !a.raises(r.NoSendBefore)
}

// raises reports whether a promise says something new. A client that stays where it is can promise a nanosecond more without end: so only
// the first freeRepeats of those promises are new.
func (a *clientTiming) raises(promise metasim.Instant) bool {
	if !a.said.NoSendBefore.Before(promise) {
		return false
	}
	a.said.NoSendBefore = promise
	a.raised++
	return a.raised <= freeRepeats
}

// stop notes the end of the run.
func (t *timing) stop(wall time.Duration, started bool) {
	t.end = wall
	t.recordWaits(false, wall)
	for i := range t.clients {
		a := &t.clients[i]
		a.resumes(wall)
		if started && a.end == 0 {
			a.end = wall
		}
	}
}

// authorized notes that a client is authorized. If it waits, that is the answer.
func (a *clientTiming) authorized(wall time.Duration) {
	if a.waiting && a.conn != nil {
		a.conn.answered = true
	}
	a.resumes(wall)
}

// lacks notes that a client waits for memory.
func (a *clientTiming) lacks(wall time.Duration) {
	if !a.short {
		a.short, a.lacked = true, wall
	}
}

// starvedFor returns how long the client has waited for memory since the run began. A wait that has not ended is counted until wall.
func (a *clientTiming) starvedFor(wall time.Duration) time.Duration {
	if a.short {
		return a.starved + wall - a.lacked
	}
	return a.starved
}

func (a *clientTiming) resumes(wall time.Duration) {
	a.starved, a.short = a.starvedFor(wall), false
	if a.waiting {
		a.blocked, a.since, a.waiting = a.blockedFor(wall), wall, false
	}
}

// blockedFor is for how long a client has waited so far.
func (a *clientTiming) blockedFor(wall time.Duration) time.Duration {
	if a.waiting {
		return a.blocked + wall - a.since
	}
	return a.blocked
}

// recordWaits notes that the run begins, or ends, to wait for an observer.
func (t *timing) recordWaits(full bool, wall time.Duration) {
	t.recordTime = t.recordTimeAt(wall)
	t.recordFull, t.recordSince = full, wall
}

// recordTimeAt is for how long the run has waited for observers so far.
func (t *timing) recordTimeAt(wall time.Duration) time.Duration {
	if t.recordFull {
		return t.recordTime + wall - t.recordSince
	}
	return t.recordTime
}

// readClock reads the clock, unless the run is over.
func (s *Server) readClock() {
	if !s.ended {
		s.wall = time.Since(s.began)
	}
}
