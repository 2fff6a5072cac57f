package levels

import (
	"fmt"
	"slices"
	"sync"

	"metasim/federates/ecm"
	"metasim/federates/world"
)

// A speculation does steps before a secondary is asked for them, while its primary takes in those before: a secondary that goes ahead is mostly asked for the same
// models again, in the state that it has made itself. It works on a copy of that state. An order that was expected takes what is done already, and any other one
// throws it away. So what comes of an order is a function of the order and of the state alone, as if nobody had worked before.
type speculation struct {
	store *ecm.Store // the worker's, while there is one
	next  world.Info // of the step that comes next; likewise
	move  []ecm.Entity

	mu      sync.Mutex
	changed sync.Cond     // of what follows
	done    []ecm.Changes // steps that nobody has asked for yet
	limit   int           // of them
	works   bool          // there is a worker
	stopped bool
}

// newSpeculation begins behind a step that was done, in the state before that step.
func newSpeculation(state *ecm.Store, e *expected) (*speculation, error) {
	s := &speculation{store: ecm.NewStore(world.Schema()), next: e.info, move: e.move}
	s.changed.L = &s.mu
	if err := s.store.Apply(state.Full()); err != nil {
		return nil, err
	}
	return s, s.store.Apply(ecm.Changes{Edits: e.edits})
}

// work has so many steps done which nobody has asked for yet.
func (s *speculation) work(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit = limit; !s.works && len(s.done) < limit {
		s.works = true
		go s.run()
	}
}

// run is the worker. It ends at the limit, at a step that fails, and when it is stopped.
func (s *speculation) run() {
	for {
		c, err := s.step()
		s.mu.Lock()
		if err == nil {
			s.done = append(s.done, c)
		}
		s.works = err == nil && !s.stopped && len(s.done) < s.limit
		goesOn := s.works
		s.changed.Broadcast()
		s.mu.Unlock()
		if !goesOn {
			return
		}
	}
}

// step does the next step. If it fails, the state is the one before.
func (s *speculation) step() (ecm.Changes, error) {
	s.store.Forget(s.store.Version())
	c, err := moveIn(s.store, s.next, s.move)
	if err == nil {
		err = s.store.Apply(c)
	}
	if err == nil {
		s.next = after(s.next)
	}
	return c, err
}

// moveIn returns what a step changes in which these entities move, and the others stand still.
func moveIn(state *ecm.Store, i world.Info, move []ecm.Entity) (c ecm.Changes, err error) {
	v := state.View(0)
	for _, e := range move {
		if _, moves := v.Get(e, world.Velocity); !moves {
			return c, fmt.Errorf("it is to move entity %v, and does not have it", e)
		}
	}
	world.Move(i, v, func(e ecm.Entity) bool {
		_, mine := slices.BinarySearch(move, e)
		return mine
	})
	return v.Changes(), v.Err()
}

// take returns the next step, which is asked for now. Where the worker is not there, it is done by the caller.
func (s *speculation) take() (ecm.Changes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.done) == 0 && s.works {
		s.changed.Wait()
	}
	if len(s.done) == 0 {
		return s.step()
	}
	c := s.done[0]
	s.done[0], s.done = ecm.Changes{}, s.done[1:]
	return c, nil
}

// stop ends the worker, which may do the step to its end that it has begun.
func (s *speculation) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

// An expected order asks for the same models again, in the state that the secondary has made itself.
type expected struct {
	info  world.Info
	steps int // of the order before
	move  []ecm.Entity
	edits []ecm.Edit // of the last step, which come back with the order
}

// is reports whether an order is the one that was expected, unless it removes what the secondary has.
func (e *expected) is(o *order) bool {
	return !o.fresh && o.info == e.info && slices.Equal(o.move, e.move) && slices.EqualFunc(o.changes.Edits, e.edits, func(a, b ecm.Edit) bool { return a.Entity == b.Entity && same(&a, &b) })
}

// after is the step behind a step.
func after(i world.Info) world.Info {
	return world.Info{Iteration: i.Iteration + 1, Time: i.Time.Add(i.Step), Step: i.Step}
}
