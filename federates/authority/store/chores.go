package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"metasim/federates/authority/tree"
)

// chores follows the log until the context ends, and does what a leader does beside that: a procedure that takes long keeps nobody from what is new.
func (s *Store) chores(ctx context.Context, changes <-chan struct{}) {
	defer close(s.done)
	every := time.NewTicker(max(s.cfg.Lease/2, 10*time.Millisecond)) // a watch may break, and the leader vanish
	defer every.Stop()
	wake := make(chan bool, 1)
	var leader sync.WaitGroup
	leader.Go(func() { s.lead(ctx, wake) })
	defer leader.Wait()
	defer close(wake)
	for try := true; ; {
		if err := s.Fence(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("a member does not see what is new", "member", s.cfg.Name, "error", err)
		}
		select {
		case wake <- try:
			try = false
		default: // it works, and looks once more at what waits in wake
		}
		select {
		case <-ctx.Done():
			return
		case _, ok := <-changes:
			if !ok {
				changes = nil
			}
		case <-every.C:
			try = true
		}
	}
}

// Step does once what a member otherwise does by itself: it sees what was written, and leads if nobody else does, which it reports. A leader runs the procedures that
// wait, and ends the sessions that nobody holds. It is for members with Config.Stepped.
func (s *Store) Step(ctx context.Context) (leads bool, err error) {
	if err := s.Fence(ctx); err != nil {
		return false, err
	}
	if s.leader = s.leads(ctx, s.leader, true); s.leader == nil {
		return false, nil
	}
	return true, errors.Join(s.run(ctx), s.endSessions(ctx))
}

// lead becomes the leader when it is told to try, and as long as it is, does what is to be done.
func (s *Store) lead(ctx context.Context, wake <-chan bool) {
	var lead Held
	for try := range wake {
		if lead = s.leads(ctx, lead, try); lead == nil || ctx.Err() != nil {
			continue
		}
		if err := errors.Join(s.run(ctx), s.endSessions(ctx)); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("the chores of a leader wait", "member", s.cfg.Name, "error", err)
		}
	}
}

// leads returns what makes this member the leader; nil if it is not, even after a try.
func (s *Store) leads(ctx context.Context, lead Held, try bool) Held {
	if lead != nil {
		select {
		case <-lead.Lost():
		default:
			return lead
		}
	}
	if !try {
		return nil
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	lead, err := s.kv.Hold(ctx, keyLeader, []byte(s.cfg.Name), s.cfg.Lease)
	if err != nil {
		if !errors.Is(err, ErrHeld) && ctx.Err() == nil {
			s.cfg.Log.Warn("no leader is known", "member", s.cfg.Name, "error", err)
		}
		return nil
	}
	return lead
}

// run runs the procedures that wait, in the order of their commands, and removes each list when all of it was run.
func (s *Store) run(ctx context.Context) error {
	for ctx.Err() == nil {
		bounded, cancel := s.bound(ctx)
		span := below(firings)
		pairs, err := s.kv.Range(bounded, span.From, span.To, 16)
		cancel()
		if err != nil || len(pairs) == 0 {
			return err
		}
		for _, p := range pairs {
			var list []tree.Firing
			if err := json.Unmarshal(p.Value, &list); err != nil {
				return fmt.Errorf("%w: %s: %w", ErrFormat, p.Key, err)
			}
			for _, f := range list {
				s.runOne(ctx, f)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			bounded, cancel := s.bound(ctx)
			_, err := s.kv.Do(bounded, Batch{Delete: []Span{{p.Key, p.Key + "\x00"}}})
			cancel()
			if err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (s *Store) runOne(ctx context.Context, f tree.Firing) {
	procedure := s.cfg.Procedures[f.Procedure]
	if procedure == nil {
		s.cfg.Log.Warn("a trigger has no procedure here", "member", s.cfg.Name, "trigger", f.Trigger, "procedure", f.Procedure)
		return
	}
	if err := protected(ctx, procedure, f); err != nil {
		s.cfg.Log.Warn("a procedure failed", "member", s.cfg.Name, "trigger", f.Trigger, "procedure", f.Procedure, "path", string(f.Event.Path), "error", err)
	}
}

// protected turns a panic of a procedure, which others wrote, into an error.
func protected(ctx context.Context, procedure ProcedureFunc, f tree.Firing) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return procedure(ctx, f)
}

// endSessions ends those that nobody holds any more.
func (s *Store) endSessions(ctx context.Context) error {
	var open []string
	s.locked(func() { open = s.follow.tree.Sessions() })
	if len(open) == 0 {
		return nil
	}
	bounded, cancel := s.bound(ctx)
	defer cancel()
	span := below(sessions)
	pairs, err := s.kv.Range(bounded, span.From, span.To, 0)
	if err != nil {
		return err
	}
	for _, name := range open {
		held := slices.ContainsFunc(pairs, func(p Pair) bool { return strings.TrimPrefix(p.Key, sessions) == name })
		if held {
			continue
		}
		if err := s.endSession(ctx, name); err != nil && !errors.Is(err, tree.ErrSession) && !errors.Is(err, ErrHeld) {
			return err
		}
		s.cfg.Log.Info("a session ended with its process", "member", s.cfg.Name, "session", name)
	}
	return nil
}

// endSession ends a session that nobody holds.
func (s *Store) endSession(ctx context.Context, name string) error {
	c := tree.Command{Kind: tree.KindEndSession, Name: name}
	_, err := s.write(ctx, []Pair{{Key: sessions + name}}, func(*tree.Tree) (tree.Command, error) { return c, nil })
	return err
}
