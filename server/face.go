package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"metasim/metasim"
)

// ErrNotDriven is returned by Initialize and AdvanceTo of a server that runs by itself.
var ErrNotDriven = errors.New("server: the run is not driven; set Config.Driven")

// Initialize waits until every client has joined and initialized: all that was sent at the start instant is known, and
// nothing has happened yet. It fails as the run fails.
func (s *Server) Initialize(ctx context.Context) error {
	if !s.config.Driven {
		return ErrNotDriven
	}
	_, err := s.wait(ctx, metasim.Start) // the keeper's first act is to permit nothing
	return err
}

// AdvanceTo lets everything strictly before t happen, and returns the earliest instant at which something is left to
// happen: infinity at the end of the run. It is called after Initialize, with t not going back. It fails as the run
// fails.
func (s *Server) AdvanceTo(ctx context.Context, t metasim.Time) (metasim.Instant, error) {
	if !s.config.Driven {
		return metasim.Instant{}, ErrNotDriven
	}
	until := metasim.At(t)
	s.order(func() {
		s.hold.allowed = until
		s.permit()
	})
	return s.wait(ctx, until)
}

// wait waits for the answer to a permit. The end of the run is one, too.
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

// Time returns how far the run has come as a whole: nothing is left to happen before it. That may be later than what
// AdvanceTo allowed.
func (s *Server) Time() metasim.Time { return metasim.Time(s.now.Load()) }

// Pace drives a run so that it is never ahead of real time: simulated time passes at rate times the speed of the wall
// clock, as far as the machine can; the time for which the run stands still as it was paused does not count. It returns
// when the run is over. The rate is positive.
func Pace(ctx context.Context, s *Server, rate float64) error {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return fmt.Errorf("server: a rate of %v; use a positive number, or do not drive the run", rate)
	}
	if err := s.Initialize(ctx); err != nil {
		return err
	}
	began := time.Now()
	next := metasim.Start
	for next != metasim.Infinity {
		before := s.Progress()
		elapsed := saturate(float64(time.Since(began)-before.Paused) * rate)
		if ahead := next.Time - elapsed; ahead > 0 {
			// Nothing is to happen before next: sleep until its time has come.
			if err := s.sleep(ctx, time.Duration(saturate(math.Ceil(float64(ahead)/rate)))); err != nil {
				return err
			}
			if s.Progress().Paused != before.Paused { // it has not come yet
				if err := s.sleep(ctx, pauseLook); err != nil {
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

// pauseLook is how long, after a run was paused, it may take until its pace goes on with it.
const pauseLook = 5 * time.Millisecond

// saturate converts floating nanoseconds; what does not fit is for ever.
func saturate(ns float64) metasim.Time {
	if ns >= float64(metasim.Forever) {
		return metasim.Forever
	}
	return metasim.Time(ns)
}

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
