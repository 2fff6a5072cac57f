package server

import (
	"slices"
	"time"

	"metasim/metasim"
	"metasim/wire/session"
)

// A client whose process died is started again, and goes through what it went through before: see session.Server.Return. What it was given
// and said is read from the journal by a goroutine of its own, in parts, so that nobody who has the turn waits for the disk.

// restart asks for a new process of a client. It returns false if the client gets none, because the scenario does not allow it or it has been
// started again too often: then the client is lost.
func (s *Server) restart(id metasim.ClientID, why string) bool {
	name := s.dispatcher.Names()[id]
	a := &s.timing.clients[id]
	presence := s.session.Presence(id)
	if s.config.Restart == nil || s.ended || s.failing || presence == session.Left || presence == session.Lost ||
		a.restarts >= s.config.Restart.Limit[name] {
		return false
	}
	a.restarts++
	a.lives++
	a.forget()
	s.session.Vacate(id)
	s.log.Warn("started again", "client", name, "at", s.dispatcher.Status(id).Clock, "cause", why,
		"restart", a.restarts, "limit", s.config.Restart.Limit[name])
	s.begins(id, presence != session.Absent)
	return true
}

// begins starts a life of a client. If it is bounded, the run fails where the client does not join in time.
func (s *Server) begins(id metasim.ClientID, bounded bool) {
	a, name := &s.timing.clients[id], s.dispatcher.Names()[id]
	s.config.Restart.Start(name, a.lives)
	if s.config.StartTimeout > 0 && bounded { // else that of the run counts
		life := a.lives
		time.AfterFunc(s.config.StartTimeout, func() {
			s.mail.post(func() {
				if a.lives == life && s.session.Presence(id) == session.Away {
					s.fail(&StartError{After: s.config.StartTimeout, Missing: []string{name}, Again: true})
				}
			})
		})
	}
}

// returned takes the Hello of a client whose process was replaced. recall is called with each part of its past, on another goroutine.
func (s *Server) returned(c *connection, join *metasim.Join, recall func(metasim.ClientID, *memory, part)) {
	s.observeAll() // its past is read
	a := &s.timing.clients[join.Client]
	a.conn = c
	if !slices.Contains(c.clients, join.Client) { // a relay brings each process of it over one connection
		c.clients = append(c.clients, join.Client)
	}
	if refusal := s.session.Return(join); refusal != nil {
		s.unlike(refusal)
		return
	}
	if lacks, back := s.session.Lacks(join.Client); back {
		s.log.Info("came back", "client", s.dispatcher.Names()[join.Client], "messages_that_the_journal_lacks", lacks)
	}
	if !s.session.Repeats(join.Client) {
		return // it came back, or the run has not begun
	}
	m := &memory{past: s.config.Restart.Past(join.Client, s.session.Saves(join.Client)), conn: c, wanted: make(chan struct{}, 1), ended: make(chan struct{})}
	a.past = m
	c.repeating++
	m.wanted <- struct{}{}
	s.spawn(func() { s.remember(join.Client, m, recall) })
}

// unlike ends the run: a client has not repeated itself.
func (s *Server) unlike(r *session.Refusal) {
	s.fail(&RepeatError{Client: s.dispatcher.Names()[r.Client], Restarts: s.timing.clients[r.Client].restarts, Difference: r.Difference})
}

// remember is the goroutine that reads. It ends with the last part, or with the run, even if the disk hangs.
func (s *Server) remember(id metasim.ClientID, m *memory, recall func(metasim.ClientID, *memory, part)) {
	parts := make(chan part, 1)
	go func() {
		defer func() { _ = m.past.Close() }() // a file that is only read
		for {
			select {
			case <-m.wanted:
			case <-m.ended:
				return
			case <-s.over:
				return
			}
			past, last, err := m.past.Next()
			parts <- part{past, last, err}
			if last || err != nil {
				return
			}
		}
	}()
	for {
		select {
		case p := <-parts:
			recall(id, m, p)
			if p.last || p.err != nil {
				return
			}
		case <-m.ended:
			return
		case <-s.over:
			return
		}
	}
}

// progress looks how far a client is that repeats itself, after what it said or after a part of its past.
func (s *Server) progress(id metasim.ClientID) {
	a := &s.timing.clients[id]
	m := a.past
	if m == nil {
		return
	}
	if !s.session.Repeats(id) {
		s.log.Info("caught up", "client", s.dispatcher.Names()[id], "restart", a.restarts)
		a.forget()
		return
	}
	more, full := s.session.Needs(id)
	if more {
		select {
		case m.wanted <- struct{}{}:
		default: // it is being read
		}
	}
	m.conn.crowd(full)
}

// keep keeps the checkpoint that the last packet brought, if it brought one.
func (s *Server) keep() {
	id, saved := s.session.Saved()
	if saved == nil {
		return
	}
	a := &s.timing.clients[id]
	if saved.Failed != "" {
		if !a.unsaved { // once is enough
			s.log.Warn("a client made no checkpoint", "client", s.dispatcher.Names()[id], "cause", saved.Failed)
		}
		a.unsaved = true
		return
	}
	s.observeAll()
	s.hashing.sends.wait()
	if s.config.Checkpoints.Keep(id, &session.Saved{Checkpoint: *saved, Sent: s.ledger.Account(id).Sent, Sends: s.ledger.SendsOf(id)}) {
		a.checkpoints++
	}
}

// forget ends the reading of a past.
func (a *clientTiming) forget() {
	if a.past != nil {
		close(a.past.ended)
		a.past.conn.crowd(false)
		a.past.conn.repeating--
		a.past = nil
	}
}
