package server

import (
	"context"
	"fmt"
	"math"
	"time"

	"metasim/metasim"
	"metasim/wire/session"
)

// Initialize waits until every client has joined and initialized: everything sent at the start instant is known, and
// nothing has happened yet. If the run fails, it returns the error of the run.
func (s *Server) Initialize(ctx context.Context) error {
	if !s.config.Driven {
		return ErrNotDriven
	}
	_, err := s.wait(ctx, metasim.Start) // the first thing that Serve does is to permit nothing
	return err
}

// AdvanceTo lets everything strictly before t happen, and returns the earliest instant at which something is left to
// happen: infinity at the end of the run. It is called after Initialize, and t never goes back. If the run fails, it
// returns the error of the run.
func (s *Server) AdvanceTo(ctx context.Context, t metasim.Time) (metasim.Instant, error) {
	if !s.config.Driven {
		return metasim.Instant{}, ErrNotDriven
	}
	until := metasim.At(t)
	s.do(func() {
		s.permission.driver = until
		s.permit()
	})
	return s.wait(ctx, until)
}

// wait waits until everything before until has happened, or until the run is over.
func (s *Server) wait(ctx context.Context, until metasim.Instant) (metasim.Instant, error) {
	for {
		select {
		case r := <-s.reached:
			if r.Until == until { // else it is the answer to a call that was cancelled
				return r.Next, nil
			}
		case <-s.over:
			return metasim.Infinity, s.err
		case <-ctx.Done():
			return metasim.Instant{}, context.Cause(ctx)
		}
	}
}

// Time returns how far the run has come as a whole: nothing is left to happen before it. It may be later than the time that
// AdvanceTo allowed.
func (s *Server) Time() metasim.Time { return metasim.Time(s.now.Load()) }

// Pace drives a run so that it is never ahead of real time: simulated time passes at rate times the speed of the wall
// clock, or slower if the clients compute for longer. Time does not count while the run is paused. In a run that is resumed it counts from when all
// clients have come as far as the journal. Pace returns when the run is over. The rate is positive.
func Pace(ctx context.Context, s *Server, rate float64) error {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return fmt.Errorf("a rate of %v; use a positive number, or do not drive the run", rate)
	}
	if err := s.Initialize(ctx); err != nil {
		return err
	}
	if err := s.awaitReturn(ctx); err != nil {
		return err
	}
	before := time.Duration(float64(s.permitted) / rate)   // of a run that was cut off
	began := time.Now().Add(-before - s.Progress().Paused) // what was paused until now is over
	s.do(func() { s.permission.pace(rate, s.wall-before) })
	next := metasim.Start
	for next != metasim.Infinity {
		before := s.Progress()
		elapsed := saturate(float64(time.Since(began)-before.Paused) * rate)
		if ahead := next.Time - elapsed; ahead > 0 {
			// Nothing happens before next: sleep until its time.
			if err := s.sleep(ctx, time.Duration(saturate(math.Ceil(float64(ahead)/rate)))); err != nil {
				return err
			}
			if s.Progress().Paused != before.Paused { // a pause has moved that time
				if err := s.sleep(ctx, pauseDelay); err != nil {
					return err
				}
				continue
			}
			elapsed = next.Time
		}
		var err error
		if next, err = s.AdvanceTo(ctx, max(elapsed, next.Time).Add(1)); err != nil {
			return err
		}
	}
	_, err := s.AdvanceTo(ctx, metasim.Forever)
	return err
}

// awaitReturn waits until each client of a run that was cut off has come as far as it was. Who drives the run permits nothing meanwhile: for the
// dispatcher the clients wait where they waited, so it would answer at once.
func (s *Server) awaitReturn(ctx context.Context) error {
	for s.config.Resume != nil {
		returned := true // also if the run is over
		s.do(func() { returned = s.allReturned() })
		if returned {
			return nil
		}
		if err := s.sleep(ctx, pauseDelay); err != nil {
			return err
		}
	}
	return nil
}

// pauseDelay is how often Pace looks whether a run that was paused goes on, and whether clients have returned.
const pauseDelay = 5 * time.Millisecond

// sleep waits for d of wall-clock time, or until the run is over.
func (s *Server) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.over:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

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

// Move has a client go on in another process, although the one that it is in lives: Restart.Start starts that, and ends the old one. It does as one does that replaces a dead one: a client that was told of nothing
// else than before cannot tell. A client that has not begun, has left, or still repeats its past is not moved.
func (s *Server) Move(client string) {
	s.do(func() {
		id, known := s.find(client)
		if !known || s.config.Restart == nil || s.ended || s.failing || !s.session.Started() || s.session.Presence(id) != session.Present || s.session.Repeats(id) {
			return
		}
		a := &s.timing.clients[id]
		a.lives++
		a.forget()
		s.session.Vacate(id)
		s.log.Info("moves", "client", client, "at", s.dispatcher.Status(id).Clock)
		s.begins(id, true)
	})
}
