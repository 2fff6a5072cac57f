package server

import "slices"

// With Config.Durable the record of a run is on the disk before its effects leave: what a round has for peers of other processes is held
// until all that led to it has reached the disk. Rounds go on meanwhile, and what they have follows with the next commit: one sync of the
// disk serves all that came since the one before.

// commit begins a commit, unless one is on its way: that one is followed by another if something is held then.
func (s *Server) commit() {
	if s.config.Durable == nil || s.committing || s.ended {
		return
	}
	var marked []*connection
	s.mu.Lock()
	for _, c := range s.connections {
		if c.outbox.mark() {
			marked = append(marked, c)
		}
	}
	s.mu.Unlock()
	if len(marked) == 0 {
		return
	}
	s.committing = true
	reached := s.config.Durable.Commit()
	synced := make(chan error, 1)
	go func() { synced <- reached() }() // a disk that hangs does not keep the run from its end
	s.spawn(func() {
		select {
		case err := <-synced:
			s.mail.post(func() { s.committed(marked, err) })
		case <-s.over:
		}
	})
}

// committed lets go what was held for a commit.
func (s *Server) committed(marked []*connection, err error) {
	s.committing = false
	if err != nil {
		s.fail(&ObserverError{Err: err})
		return
	}
	for _, c := range marked {
		c.outbox.release()
	}
	s.commit()
}

// letGo lets all go that is held, as the run is over: when outboxes are closed no goroutine is started any more that could write it.
func (s *Server) letGo() {
	if s.config.Durable == nil {
		return
	}
	s.mu.Lock()
	connections := slices.Clone(s.connections)
	s.mu.Unlock()
	for _, c := range connections {
		c.outbox.mark()
		c.outbox.release()
	}
}
