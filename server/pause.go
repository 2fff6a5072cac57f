package server

import (
	"fmt"

	"metasim/metasim"
)

// Pause stops authorizing clients. The run stands still when the clients that compute have come to where they must wait. A
// client that no message can reach may have been authorized far ahead. Pause fails with ErrOver.
func (s *Server) Pause() error {
	return s.command(func() error {
		s.permission.steps = 0
		s.pauseHere()
		return nil
	})
}

// Resume lets a paused run go on. It fails with ErrOver.
func (s *Server) Resume() error {
	return s.command(func() error {
		s.permission.steps = 0
		s.pauseAt(metasim.Infinity)
		return nil
	})
}

// PauseAt lets everything strictly before t happen, and pauses the run there. It fails with ErrOver, and if the run is
// beyond t already.
func (s *Server) PauseAt(t metasim.Time) error {
	return s.command(func() error {
		if now := s.dispatcher.Now(); metasim.At(t).Before(now) {
			return fmt.Errorf("the run is at %v already, so it cannot be paused at %v; name a later time", now, t)
		}
		s.permission.steps = 0
		s.pauseAt(metasim.At(t))
		return nil
	})
}

// Step lets everything happen at the next time at which something is left to happen, and pauses the run there. A run that
// is not paused is paused first. Step fails with ErrOver.
func (s *Server) Step() error {
	return s.command(func() error {
		if s.permission.pause == metasim.Infinity {
			s.pauseHere()
		}
		s.permission.steps++
		return nil
	})
}

// command does what a person asked for.
func (s *Server) command(f func() error) (err error) {
	if !s.do(func() { err = f() }) {
		return ErrOver
	}
	return err
}

// pauseHere permits nothing that has not happened yet, and nothing that the driver has not allowed.
func (s *Server) pauseHere() {
	s.pauseAt(metasim.Earlier(s.permission.until(), s.dispatcher.Now()))
}

func (s *Server) pauseAt(limit metasim.Instant) {
	if s.permission.pauseAt(limit, s.wall) {
		s.permit()
	}
}
