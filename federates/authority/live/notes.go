package live

import "time"

// later has the main loop tell something. Where there is more than it tells, some is left out.
func (s *server) later(e Event) {
	select {
	case s.notes <- e:
	default:
	}
}

// note tells what lasts: at most once in a second, and the same at most once in a minute.
func (s *server) note(e Event) {
	was, now := s.noted[e.To], time.Now()
	if since := now.Sub(was.at); since >= time.Minute || since >= time.Second && e.Error != was.text {
		s.noted[e.To] = notice{e.Error, now}
		s.tell(e)
	}
}
