package server

import (
	"fmt"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// closeBooks ends the books of those who are still there.
func (s *Server) closeBooks() {
	s.end = s.wall()
	for i := range s.clients {
		a := &s.clients[i]
		s.resumes(metasim.ClientID(i))
		if s.started && a.end == 0 {
			a.end = s.end
		}
	}
}

// takeMail feeds all that waits to the dispatcher.
func (s *Server) takeMail() {
	for _, in := range s.mail.take() {
		if in.err != nil {
			s.take(in.session, nil, in.err)
		} else {
			s.packet(in.session, in.packet)
		}
	}
}

// take feeds what a connection brought to the dispatcher.
func (s *Server) take(sess *session, packets []wire.Packet, err error) {
	for _, p := range packets {
		s.packet(sess, p)
	}
	if err != nil && !s.ended {
		s.hangUp(sess, cause(err))
	}
}

// packet takes one message of a member.
func (s *Server) packet(sess *session, p wire.Packet) {
	if s.ended {
		return
	}
	sess.heard++
	if hello, ok := p.Body.(wire.Hello); ok {
		s.hello(sess, p.Member, hello)
		return
	}
	m := sess.members[p.Member]
	if m == nil {
		s.refuse(sess, p.Member, wire.BadMessage, fmt.Sprintf("member %d sent a %T before its Hello; say Hello first", p.Member, p.Body))
		return
	}
	if m.cut {
		return
	}
	s.heard++
	s.clients[m.client].heard = s.wall()
	switch ev := p.Body.(type) {
	case *metasim.Send:
		ev.Client = m.client
		s.step(ev)
	case *metasim.Promise:
		ev.Client = m.client
		s.step(ev)
	case *metasim.Advance:
		ev.Client = m.client
		s.step(ev)
	case *metasim.PollWait:
		ev.Client = m.client
		s.polls(m.client)
		s.step(ev)
	case *metasim.Leave:
		ev.Client, ev.Cut = m.client, false
		s.leaves(m, ev)
	default:
		s.misbehaves(m, fmt.Sprintf("a client does not send a %T", p.Body),
			fmt.Sprintf("it sent a %T, which only a server does", p.Body))
	}
}

// leaves takes a client's leave, and tells it that all it sent was taken.
func (s *Server) leaves(m *member, ev *metasim.Leave) {
	s.step(ev)
	if s.err != nil {
		return // it broke a rule, or the run cannot be recorded: either way another word than Goodbye is its last
	}
	m.left = true
	a := &s.clients[m.client]
	a.end = s.wall()
	s.put(m.session, wire.Packet{Member: m.number, Body: wire.Goodbye{}})
}

// step gives the dispatcher an event, and carries out what follows.
func (s *Server) step(ev metasim.Event) {
	s.given = true
	s.observe(ev, s.dispatcher.Step(ev))
}

// settle lets the dispatcher decide who may go on.
func (s *Server) settle() {
	if s.ended {
		return
	}
	for more := true; more; more = s.stride() {
		if effects := s.dispatcher.Settle(); len(effects) > 0 {
			s.observe(nil, effects)
		}
	}
	if s.wall()-s.looked >= lookEvery {
		s.look()
	}
}

// lookEvery is how old the Time of a run may be that is not driven: looking costs a visit to every client.
const lookEvery = 10 * time.Millisecond

// look notes how far the run has come, for Time.
func (s *Server) look() {
	s.looked = s.wall()
	s.now.Store(int64(s.dispatcher.Now().Time))
}

func (s *Server) observe(ev metasim.Event, effects []metasim.Effect) {
	s.ledger.Observe(ev, effects)
	wall := int64(s.wall())
	for _, o := range s.config.Observers {
		if err := o.Observe(wall, ev, effects); err != nil {
			s.fail(&ObserverError{Err: err})
			return
		}
	}
	for _, e := range effects {
		s.carry(e)
	}
}

// carry carries out one effect.
func (s *Server) carry(e metasim.Effect) {
	switch e := e.(type) {
	case *metasim.Deliver:
		s.deliver(e)
	case *metasim.Authorize:
		s.answers(e.To)
		s.resumes(e.To)
		s.putClient(e.To, e)
	case *metasim.Evict:
		if m := s.clients[e.Client].member; m != nil {
			s.refuse(m.session, m.number, wire.RuleBroken, e.Err.Error())
			m.left = true // it has been told why; the farewell is for the others
		}
	case *metasim.Reached:
		s.look()
		s.stops(*e)
	case *metasim.Finish:
		s.ended, s.err = true, e.Err
	}
}

// putClient sends a message to a client, unless it is gone.
func (s *Server) putClient(id metasim.ClientID, body wire.Body) {
	if m := s.clients[id].member; m != nil {
		s.put(m.session, wire.Packet{Member: m.number, Body: body})
	}
}

// put adds to what this pass has for a connection.
func (s *Server) put(sess *session, p wire.Packet) {
	sess.pass = append(sess.pass, p)
	if !sess.touched {
		sess.touched = true
		s.touched = append(s.touched, sess)
	}
}

// flush hands each connection what the pass had for it. It reports true when a peer does not read, and was dropped.
func (s *Server) flush() bool {
	dropped := false
	for _, sess := range s.touched {
		before, after, err := sess.outbox.put(sess.pass)
		if sess.answered {
			sess.answered, sess.answer = false, sess.outbox.total
		}
		clear(sess.pass)
		sess.pass, sess.touched = keep(sess.pass, &sess.use, keepPackets), false
		switch limit := s.config.OutboxLimit; {
		case s.ended:
		case err != nil:
			s.fail(fmt.Errorf("server: what %s is to be told cannot be sent: %w", sess.conn.Peer(), err))
		case before > hardFactor*limit && sess.asks():
			dropped = true
			s.drop(sess, before)
		case after > limit:
			s.watch(sess)
		}
	}
	clear(s.touched)
	s.touched = s.touched[:0]
	return dropped
}

// keepPackets is how many packets a session has room for in any case.
const keepPackets = 8

// answers notes that a client that waits is told to go on.
func (s *Server) answers(id metasim.ClientID) {
	if a := &s.clients[id]; a.waiting && a.member != nil {
		a.member.session.answered = true
	}
}

// polls and resumes keep the books of who was blocked for how long.
func (s *Server) polls(id metasim.ClientID) {
	a := &s.clients[id]
	a.waiting, a.polled, a.since = true, true, s.wall()
}

func (s *Server) resumes(id metasim.ClientID) {
	a := &s.clients[id]
	if a.waiting {
		a.waiting = false
		a.blocked += s.wall() - a.since
		a.since = s.wall()
	}
}
