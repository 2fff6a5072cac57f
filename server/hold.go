package server

import (
	"fmt"
	"time"

	"metasim/metasim"
)

// A hold is what keeps a run from going on: its driver has not allowed more yet, or a person has paused it. Neither can
// reach a result: it says when something is computed, never what. The dispatcher is permitted the lesser of both.
type hold struct {
	allowed metasim.Instant // by AdvanceTo; Infinity where nobody drives
	limit   metasim.Instant // by Pause, PauseAt and Step; Infinity: the run is not paused
	steps   int             // that were asked for and are still to come
	still   bool            // everything that is permitted has happened, and all wait
	next    metasim.Instant // what is left then
	since   time.Duration   // when it came to stand still
	paused  time.Duration   // for how long it stood still as it was paused, until it last went on
}

func newHold(driven bool) hold {
	h := hold{allowed: metasim.Infinity, limit: metasim.Infinity}
	if driven {
		h.allowed = metasim.Start
	}
	return h
}

// atLimit reports whether the run stands still where a person wanted it to.
func (h *hold) atLimit() bool {
	return h.still && h.limit != metasim.Infinity && !h.allowed.Before(h.limit)
}

// Pause has nobody be authorized beyond what is authorized already. So the run stands still when those who compute have
// come to where they must wait; a client that nobody can reach may have been authorized far ahead. It fails with ErrOver.
func (s *Server) Pause() error {
	return s.command(func() error {
		s.hold.steps = 0
		s.stopHere()
		return nil
	})
}

// Resume lets a paused run go on. It fails with ErrOver.
func (s *Server) Resume() error {
	return s.command(func() error {
		s.hold.steps = 0
		s.stopAt(metasim.Infinity)
		return nil
	})
}

// PauseAt lets everything strictly before t happen, and pauses the run there. It fails with ErrOver, and where the run has
// come beyond t already.
func (s *Server) PauseAt(t metasim.Time) error {
	return s.command(func() error {
		if now := s.dispatcher.Now(); metasim.At(t).Before(now) {
			return fmt.Errorf("server: the run is at %v already, so it cannot be paused at %v; name a later time", now, t)
		}
		s.hold.steps = 0
		s.stopAt(metasim.At(t))
		return nil
	})
}

// Step lets everything happen at the next time at which something is left to happen, and pauses the run there; one that is
// not paused is paused first. It fails with ErrOver.
func (s *Server) Step() error {
	return s.command(func() error {
		if s.hold.limit == metasim.Infinity {
			s.stopHere()
		}
		s.hold.steps++
		return nil
	})
}

func (s *Server) command(f func() error) (err error) {
	if !s.order(func() { err = f() }) {
		return ErrOver
	}
	return err
}

// stopHere permits nothing that is not over, or that the driver has not allowed.
func (s *Server) stopHere() {
	s.stopAt(metasim.Earlier(s.hold.limit, metasim.Earlier(s.hold.allowed, s.dispatcher.Now())))
}

func (s *Server) stopAt(limit metasim.Instant) {
	if limit != s.hold.limit {
		s.goOn()
		s.hold.limit = limit
		s.permit()
	}
}

// goOn ends the time for which the run stood still.
func (s *Server) goOn() {
	h := &s.hold
	if h.atLimit() {
		h.paused += s.wall() - h.since
	}
	h.still = false
}

// permit tells the dispatcher how far the run may go.
func (s *Server) permit() {
	s.goOn()
	s.step(&metasim.Permit{Until: metasim.Earlier(s.hold.allowed, s.hold.limit)})
}

// stops takes that everything permitted has happened: the driver is told, if it was he who wanted no more.
func (s *Server) stops(r metasim.Reached) {
	h := &s.hold
	h.still, h.next, h.since = true, r.Next, s.wall()
	if r.Until != h.allowed {
		return
	}
	select {
	case <-s.reached: // the answer to a permit that nobody waits for any more
	default:
	}
	s.reached <- r
}

// stride takes the next of the steps that were asked for, once the run stands still. It reports whether there was one.
func (s *Server) stride() bool {
	h := &s.hold
	if h.steps == 0 || !h.atLimit() || s.ended {
		return false
	}
	h.steps--
	s.stopAt(metasim.At(h.next.Time.Add(1)))
	return true
}

// pausedFor is for how long the run has stood still as it was paused.
func (s *Server) pausedFor() time.Duration {
	h := &s.hold
	if h.atLimit() {
		return h.paused + s.wall() - h.since
	}
	return h.paused
}
