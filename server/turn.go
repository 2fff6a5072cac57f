package server

import (
	"context"
	"time"

	"metasim/wire"
)

// The machine has no goroutine of its own. Whoever brings something runs it, if nobody else does just now: then an
// answer costs no change of goroutine. If somebody does, what is brought lies in the mailbox, and he takes it along, as
// one batch. The right to run it is the turn.
//
// A goroutine that keeps finding mail would never come back to its own work; after some rounds it leaves the rest to the
// keeper, the goroutine of Serve, which also takes its turn when a time is up.

// maxRounds is how many batches of others' mail one goroutine takes along.
const maxRounds = 8

// bring takes what a connection brought: packets, or its end. direct says that the connection is inside the process, and
// the caller writes to it.
func (s *Server) bring(sess *session, packets []wire.Packet, err error, direct bool) {
	if s.turn.TryLock() {
		s.round(func() {
			s.takeMail() // what the connection brought before comes first
			s.take(sess, packets, err)
		})
		s.turn.Unlock()
	} else {
		s.mail.put(sess, packets, err)
	}
	s.catchUp()
	s.after(!direct)
}

// order runs f as a round of its own. It reports false when the run is over.
func (s *Server) order(f func()) bool {
	s.turn.Lock()
	ended := s.ended
	s.round(f)
	s.turn.Unlock()
	s.catchUp()
	s.after(true)
	return !ended
}

// catchUp sees to mail that came while somebody had the turn, and after he had looked.
func (s *Server) catchUp() {
	for range maxRounds {
		if s.mail.empty() || !s.turn.TryLock() {
			return // whoever has the turn catches up after it
		}
		s.round(s.takeMail)
		s.turn.Unlock()
	}
	s.knock()
}

// after lets those go on who were given something, and have no goroutine.
func (s *Server) after(here bool) {
	if s.config.After != nil {
		s.config.After(here)
	}
}

// knock wakes the keeper.
func (s *Server) knock() {
	select {
	case s.knocked <- struct{}{}:
	default: // he will look anyway
	}
}

// round is one turn: what there is to do is stepped, then authorizations are computed once, then each connection is
// written once. The caller has the turn.
func (s *Server) round(work func()) {
	if s.ended {
		return
	}
	s.tick()
	work()
	s.settle()
	for s.flush() {
		s.settle() // somebody was cut off, and others waited for it
	}
	if s.given {
		s.given = false
		s.wakeups++
	}
	if s.ended {
		s.knock()
	}
}

// keep is the life of the keeper: it returns when the run is over, and has the turn then, as it has when it is called.
func (s *Server) keep(ctx context.Context) error {
	var timeout <-chan time.Time
	if s.config.StartTimeout > 0 {
		timer := time.NewTimer(s.config.StartTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	s.round(func() {
		if s.config.Driven {
			s.permit()
		}
		s.takeMail()
	})
	for !s.ended {
		s.turn.Unlock()
		s.catchUp()
		s.after(true)
		var work func()
		select {
		case <-s.knocked:
			work = s.takeMail
		case <-timeout:
			timeout = nil
			work = s.checkStart
		case <-ctx.Done():
			work = func() { s.fail(context.Cause(ctx)) }
		}
		s.turn.Lock()
		s.round(work)
	}
	s.closeBooks()
	return s.err
}

// checkStart ends a run that could not begin in time.
func (s *Server) checkStart() {
	if !s.started {
		s.fail(&StartError{After: s.config.StartTimeout, Missing: s.missing()})
	}
}
