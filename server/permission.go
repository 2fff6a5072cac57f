package server

import (
	"time"

	"metasim/metasim"
)

// A permission says how far the run may go: no further than its driver has allowed, and no further than where a person has
// paused it. It cannot reach a result: it says when something is computed, never what.
type permission struct {
	driver metasim.Instant // by AdvanceTo; Infinity if the run is not driven
	pause  metasim.Instant // by Pause, PauseAt and Step; Infinity: the run is not paused
	steps  int             // calls of Step that were not carried out yet
	still  bool            // everything permitted has happened, and all clients wait
	next   metasim.Instant // the earliest instant at which something is left to happen then
	since  time.Duration   // when the run came to stand still
	paused time.Duration   // for how long it stood still because of a pause, until it last went on

	rate  float64       // of Pace; 0: none
	paced time.Duration // when Pace began, and later by each pause before that
}

func newPermission(driven bool) permission {
	p := permission{driver: metasim.Infinity, pause: metasim.Infinity}
	if driven {
		p.driver = metasim.Start
	}
	return p
}

// until is the instant before which everything is permitted.
func (p *permission) until() metasim.Instant { return metasim.Earlier(p.driver, p.pause) }

// atPause reports whether the run stands still where it is paused.
func (p *permission) atPause() bool {
	return p.still && p.pause != metasim.Infinity && !p.driver.Before(p.pause)
}

// pausedFor is for how long the run has stood still because of a pause.
func (p *permission) pausedFor(wall time.Duration) time.Duration {
	if p.atPause() {
		return p.paused + wall - p.since
	}
	return p.paused
}

// pace takes that the run keeps to a rate from now on.
func (p *permission) pace(rate float64, wall time.Duration) {
	p.rate, p.paced = rate, wall-p.pausedFor(wall)
}

// reached is how far a run has come that has nothing left to do before now. One with a rate may be between two events.
func (p *permission) reached(now metasim.Time, wall time.Duration) metasim.Time {
	if p.rate == 0 {
		return now
	}
	return min(now, saturate(float64(wall-p.pausedFor(wall)-p.paced)*p.rate))
}

// goOn takes that the run does not stand still any more.
func (p *permission) goOn(wall time.Duration) {
	p.paused = p.pausedFor(wall)
	p.still = false
}

// pauseAt moves the pause. It reports whether that changes it.
func (p *permission) pauseAt(limit metasim.Instant, wall time.Duration) bool {
	if limit == p.pause {
		return false
	}
	p.goOn(wall)
	p.pause = limit
	return true
}

// nextStep moves the pause beyond the next time at which something happens, if a step was asked for and the run stands
// still at its pause. It reports whether it did.
func (p *permission) nextStep(wall time.Duration) bool {
	if p.steps == 0 || !p.atPause() {
		return false
	}
	p.steps--
	return p.pauseAt(metasim.At(p.next.Time.Add(1)), wall)
}

// reach takes that everything permitted has happened. It reports whether that is as far as the driver allowed.
func (p *permission) reach(r metasim.Reached, wall time.Duration) bool {
	p.still, p.next, p.since = true, r.Next, wall
	return r.Until == p.driver
}

// saturate converts nanoseconds to a time. A value that is too large becomes Forever.
func saturate(ns float64) metasim.Time {
	if ns >= float64(metasim.Forever) {
		return metasim.Forever
	}
	return metasim.Time(ns)
}
