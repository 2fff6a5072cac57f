package predict

import (
	"metasim/metasim"
	"metasim/wire/session"
)

// done ends the acts of a client. The client goes on if it may, and writes if it must.
func (s *simulator) done(c *clientModel) {
	for _, k := range c.acts {
		s.publish(c, k)
	}
	c.settle()
	next := c.next()
	switch may := next.Before(c.granted); {
	case c.undone == 0 || !may && c.granted == metasim.Infinity: // nothing can happen any more
		c.left = true
		s.say(c, &metasim.Leave{Client: c.id, Now: c.now, Acked: c.acked})
	case !may:
		c.polls = true
		r := c.report()
		poll := s.polls.get()
		*poll = metasim.PollWait{Client: c.id, Report: r, Want: r.NextEvent, Messages: c.log.Messages}
		s.say(c, poll)
	default:
		s.advance(c)
		if s.costs.known && !session.Helps(next, c.quiet) && s.wall-c.since < session.KeepFor {
			s.goOn(c)
			return
		}
		c.quiet = metasim.Infinity // once is enough
	}
	r := s.cost(c)
	s.schedule(r.end+int64(len(c.outbox))*r.item, c, wrote)
}

// send hands the outbox of a client to the server. The client goes on, or waits.
func (s *simulator) send(c *clientModel) {
	polls := c.polls
	c.polls = false
	s.toServer(c)
	switch {
	case c.left:
		s.release(c)
	case polls:
		s.release(c)
		c.waits = true
		s.resume(c)
	case c.inside: // the writer does the server's work meanwhile
		s.release(c)
		c.act(c.next())
		s.compute(c)
	default:
		s.goOn(c)
	}
}

// goOn starts the next act of a client that has a core and keeps it.
func (s *simulator) goOn(c *clientModel) {
	c.act(c.next())
	s.schedule(c.work(), c, computed)
}

// resume wakes a client that waits, if it may go on.
func (s *simulator) resume(c *clientModel) {
	next := c.next()
	switch {
	case !c.waits:
		return
	case next.Before(c.granted):
		c.act(next)
	case c.granted == metasim.Infinity:
		c.acts = c.acts[:0]
	default:
		return
	}
	c.waits = false
	messages := c.unread
	c.unread = 0
	s.wake(c, messages)
}

// publish says what an act sends.
func (s *simulator) publish(c *clientModel, k int32) {
	end := c.log.Acts[k].Sends
	for i := end - c.sends(k); i < end; i++ {
		send := c.log.Sends[i]
		c.sent = append(c.sent, uint64(i))
		ev := s.sends.get()
		*ev = metasim.Send{Client: c.id, Channel: s.channels[send.Channel], Sent: c.now, Payload: s.payload[:send.Size]}
		s.say(c, ev)
	}
}

// advance puts the report of a client that goes on into its outbox. It replaces such a report that nothing has followed.
func (s *simulator) advance(c *clientModel) {
	if n := len(c.outbox); n > 0 && s.costs.known {
		if last, ok := c.outbox[n-1].(*metasim.Advance); ok {
			last.Report = session.Merge(last.Report, c.report())
			return
		}
	}
	a := s.advances.get()
	*a = metasim.Advance{Client: c.id, Report: c.report()}
	s.say(c, a)
}

// say puts an event into the outbox of a client.
func (s *simulator) say(c *clientModel, ev metasim.Event) {
	if len(c.outbox) == 0 {
		c.since = s.wall
	}
	c.outbox = append(c.outbox, ev)
}
