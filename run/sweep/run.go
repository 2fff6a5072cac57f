package sweep

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"metasim/run/sweep/lease"
)

// Run carries out the runs that have not ended, several at a time, and writes the table. It calls ended, one call at a time, with what came of each. A run that fails is
// part of the result, not an error. When ctx is done, the runs that go on are ended, and are as if they had not begun.
func (s *Sweep) Run(ctx context.Context, ended func(*Row)) error {
	switch {
	case s.meeting != nil:
		return s.runShared(ctx, ended)
	case s.options.Cluster != nil:
		return s.runCluster(ctx, ended)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ids := make(chan int)
	var workers sync.WaitGroup
	for range s.options.Workers {
		workers.Go(func() {
			for id := range ids {
				if err := s.do(ctx, id, ended); err != nil {
					stop(err)
				}
			}
		})
	}
	for id := range s.Plan.Runs() {
		if ctx.Err() != nil {
			break
		}
		if s.isDone(id) {
			continue
		}
		select {
		case ids <- id:
		case <-ctx.Done():
		}
	}
	close(ids)
	workers.Wait()
	return errors.Join(context.Cause(ctx), writeTable(s.Dir, s.Plan, s.results))
}

// do carries out a run and writes down what came of it. An error ends the sweep.
func (s *Sweep) do(ctx context.Context, id int, ended func(*Row)) error {
	s.mu.Lock()
	attempt := int(s.results.places[id].attempt) + 1
	s.mu.Unlock()
	l := lease.Lease{ID: id, Attempt: attempt}
	row, dir := s.rowOf(l), filepath.Join(s.Dir, attemptsDir, attemptName(l))
	if err := s.carryOut(ctx, row, dir); err != nil || ctx.Err() != nil {
		return err
	}
	return s.publishAndPut(dir, row, ended)
}
