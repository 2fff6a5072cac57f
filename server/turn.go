package server

import (
	"context"
	"time"

	"metasim/wire"
)

// No goroutine belongs to the dispatcher. A goroutine that brings something runs the dispatcher itself if no other does at
// that moment: then an answer costs no switch of goroutines. If another does, what was brought goes into the mailbox, and
// the other takes it as one batch. The right to run the dispatcher is called the turn.
//
// A goroutine that always found new mail would never return to its own work. After maxRounds batches it leaves the rest to
// the main loop, the goroutine of Serve, which also takes the turn when a time is up.

// maxRounds is how many batches of others' mail one goroutine takes.
const maxRounds = 8

// receive takes what a connection brought: packets, or its end. inProcess says that the caller is the peer, which is
// writing to the connection.
func (s *Server) receive(c *connection, packets []wire.Packet, err error, inProcess bool) {
	if s.turn.TryLock() {
		s.round(func() {
			s.takeMail() // what the connection brought before comes first
			s.take(c, packets, err)
		})
		s.turn.Unlock()
	} else {
		s.mail.put(c, packets, err)
	}
	s.catchUp()
	s.after(!inProcess)
}

// do runs f as a round of its own. It reports false when the run is over.
func (s *Server) do(f func()) bool {
	s.turn.Lock()
	ended := s.ended
	s.round(f)
	s.turn.Unlock()
	s.catchUp()
	s.after(true)
	return !ended
}

// catchUp takes mail that came while the turn was taken, after its holder had looked for mail.
func (s *Server) catchUp() {
	for range maxRounds {
		if s.mail.empty() || !s.turn.TryLock() {
			return // the holder of the turn catches up after it
		}
		s.round(s.takeMail)
		s.turn.Unlock()
	}
	s.mail.wake()
}

// after calls Config.After.
func (s *Server) after(canRunInline bool) {
	if s.config.After != nil {
		s.config.After(canRunInline)
	}
}

// run is the main loop. It returns when the run is over. The caller has the turn, before and after.
func (s *Server) run(ctx context.Context) error {
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
		case <-s.mail.woken:
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
	s.timing.stop(s.wall, s.session.Started())
	return s.err
}

// checkStart ends a run whose clients did not join in time.
func (s *Server) checkStart() {
	if !s.session.Started() {
		s.fail(&StartError{After: s.config.StartTimeout, Missing: s.session.Missing()})
	}
}
