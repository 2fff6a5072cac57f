package server

// Observers that write later, see Deferred, may fall behind: the disk of a journal may be slow, or hang. Then nothing that clients send
// is taken from the mailbox, and so no client is authorized any further; who brings more than the mailbox holds waits. Nobody waits who
// has the turn, so that the run can be asked why it stands still, and be ended.

// recordIsFull reports whether an observer cannot take more. Any goroutine may call it.
func (s *Server) recordIsFull() bool {
	for _, r := range s.records {
		if full, _ := r.Full(); full { // waitsForRecord sees an error
			return true
		}
	}
	return false
}

// waitsForRecord reports whether nothing may be taken now, and notes since when. It ends the run if an observer has failed.
func (s *Server) waitsForRecord() bool {
	full := false
	for _, r := range s.records {
		more, err := r.Full()
		if err != nil {
			s.fail(&ObserverError{Err: err})
		}
		full = full || more
	}
	if full != s.timing.recordFull {
		s.readClock()
		s.timing.recordWaits(full, s.wall)
	}
	return full
}
