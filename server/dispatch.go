package server

import (
	"time"

	"metasim/metasim"
)

// settle lets the dispatcher decide which clients may go on.
func (s *Server) settle() {
	if s.ended {
		return
	}
	for more := true; more; more = s.nextStep() {
		if effects := s.dispatcher.Settle(); len(effects) > 0 {
			s.carryOut(nil, effects)
		}
		s.settled()
	}
	for _, id := range s.dispatcher.Short() {
		s.timing.clients[id].lacks(s.wall)
	}
	if s.wall-s.noted >= noteEvery {
		s.noteTime()
	}
}

// settled shows the dispatcher, which has decided who may go on, to those who asked for it.
func (s *Server) settled() {
	if s.config.Settled != nil && !s.ended {
		s.config.Settled(s.dispatcher)
	}
}

// nextStep permits the next of the steps that a person asked for, once the run stands still. It reports false if there is
// none.
func (s *Server) nextStep() bool {
	if s.ended || !s.permission.nextStep(s.wall) {
		return false
	}
	s.permit()
	return true
}

// permit tells the dispatcher how far the run may go.
func (s *Server) permit() {
	s.permission.goOn(s.wall)
	s.step(&metasim.Permit{Until: s.permission.until()})
}

// step gives the dispatcher an event, and carries out its effects.
func (s *Server) step(ev metasim.Event) {
	s.stepped = true
	s.carryOut(ev, s.dispatcher.Step(ev))
}

// carryOut shows an event and its effects to the observers, see unobserved, and carries the effects out.
func (s *Server) carryOut(ev metasim.Event, effects []metasim.Effect) {
	if !s.observe(ev, effects) {
		return
	}
	for _, e := range effects {
		s.effect(e)
	}
}

// observe has the observers shown an event and its effects, now or soon. It reports false if they cannot take them.
func (s *Server) observe(ev metasim.Event, effects []metasim.Effect) bool {
	wall := int64(s.wall)
	later := s.outside.Load() && s.config.Durable == nil && s.unobserved.add(wall, ev, effects)
	if !later && !(s.observeAll() && s.show(wall, ev, effects)) {
		return false
	}
	return s.config.Gateway == nil || s.shown(s.config.Gateway, wall, ev, effects)
}

// observeAll shows the observers what they were not shown yet. It reports false if they cannot take it, which ends the run. The caller has the turn.
func (s *Server) observeAll() bool {
	u := &s.unobserved
	if !u.some.Load() {
		return true
	}
	rest, ok := u.effects, true
	for i := range u.list {
		e := &u.list[i]
		ok = ok && s.show(e.wall, e.event, rest[:e.effects])
		rest = rest[e.effects:]
	}
	u.clear()
	return ok
}

// show shows the observers one event and its effects.
func (s *Server) show(wall int64, ev metasim.Event, effects []metasim.Effect) bool {
	s.ledger.Observe(ev, effects)
	for _, o := range s.config.Observers {
		if !s.shown(o, wall, ev, effects) {
			return false
		}
	}
	return true
}

// shown shows one observer one event and its effects.
func (s *Server) shown(o Observer, wall int64, ev metasim.Event, effects []metasim.Effect) bool {
	if err := o.Observe(wall, ev, effects); err != nil {
		s.fail(&ObserverError{Err: err})
		return false
	}
	return true
}

// effect carries out one effect.
func (s *Server) effect(e metasim.Effect) {
	switch e := e.(type) {
	case *metasim.Deliver:
		s.session.Deliver(e)
	case *metasim.Authorize:
		s.timing.clients[e.To].authorized(s.wall)
		s.session.Authorize(e)
	case *metasim.Evict:
		if r := s.session.Evict(e); r != nil {
			s.refused(s.timing.clients[e.Client].conn, r.Text)
		}
	case *metasim.Reached:
		s.noteTime()
		s.reach(*e)
	case *metasim.Finish:
		s.ended, s.err = true, e.Err
	}
}

// noteEvery is how old the result of Time may be in a run that is not driven: to know it costs a look at every client.
const noteEvery = 10 * time.Millisecond

// noteTime notes how far the run has come, for Time.
func (s *Server) noteTime() {
	s.noted = s.wall
	s.now.Store(int64(s.dispatcher.Now().Time))
}

// reach notes that everything permitted has happened. It informs the driver, unless more was permitted because of it.
func (s *Server) reach(r metasim.Reached) {
	if !s.permission.reach(r, s.wall) {
		return
	}
	select {
	case <-s.reached: // the answer to a call that was cancelled
	default:
	}
	s.reached <- r
}

// fail ends the run with an error. The first error counts.
func (s *Server) fail(err error) {
	if !s.ended {
		s.ended, s.err = true, err
	}
}

// refusals are those that were not told yet: a peer can be refused a thousand times in a second.
type refusals struct {
	waiting bool // a timer will tell them
	more    int
	peer    string // of the last one
	why     string
}

// tellEvery is how often refusals are told at most.
const tellEvery = time.Second

// refused tells that a peer was refused, at once or together with others.
func (s *Server) refused(c *connection, why string) {
	r := &s.refusals
	r.more++
	r.peer, r.why = c.conn.Peer(), why
	if !r.waiting {
		s.tellRefusals()
	}
}

// tellRefusals tells how many refusals there were, and the last one of them.
func (s *Server) tellRefusals() {
	r := &s.refusals
	if r.waiting = r.more > 0 && !s.ended; r.waiting {
		time.AfterFunc(tellEvery, func() { s.mail.post(s.tellRefusals) })
	}
	switch {
	case r.more == 1:
		s.log.Warn("refused", "peer", r.peer, "why", r.why)
	case r.more > 1:
		s.log.Warn("refused", "times", r.more, "last peer", r.peer, "why", r.why)
	}
	r.more = 0
}

// spawn starts a goroutine that Serve waits for. It reports false when the run is over.
func (s *Server) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.goroutines.Go(f)
	}
	return !s.closed
}
