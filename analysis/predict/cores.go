package predict

import "metasim/metasim"

// schedule adds an event in so many nanoseconds.
func (s *simulator) schedule(in int64, c *clientModel, then func(*simulator, *clientModel)) {
	s.count++
	s.events.Push(event{wall: s.wall + in, order: s.count, client: c, then: then})
}

func (s *simulator) freeCore() bool { return s.cores == 0 || s.busy < s.cores }

// wake starts a client that waited when it has noticed the frame with the messages that it has not read.
func (s *simulator) wake(c *clientModel) {
	r := s.cost(c)
	c.reading, c.unread = r.end+int64(c.unread)*r.item, 0
	wake := r.wake
	switch p := c.process; {
	case c.inside && !s.wakesWorker(c):
		wake = 0
	case p != nil:
		if p.active > 0 { // the process is awake, or is woken, and reads a frame once
			c.reading, wake = c.reading-r.end, max(0, p.wakes-s.wall)
		} else {
			p.wakes = s.wall + wake
		}
		p.active, p.ready, c.ready = p.active+1, p.ready+1, true
	}
	if wake == 0 {
		s.compute(c)
		return
	}
	s.schedule(wake, c, (*simulator).compute)
	if c.process == nil || c.process.active == 1 {
		s.spin(r)
	}
}

// begin notes that a client has a core.
func (c *clientModel) begin() {
	if c.ready {
		c.ready = false
		c.process.ready--
	}
}

// owes reports whether nobody else in a process will write what has not been written yet.
func (p *process) owes() bool { return p != nil && p.ready == 0 && len(p.late) > 0 }

// wakesWorker reports whether a worker of the server's process has to wake up for a client: the client computes for long, and no client that
// has just begun to wait leaves its worker to it.
func (s *simulator) wakesWorker(c *clientModel) bool {
	computes, _ := c.work()
	if c.reading+computes < sharedBelow {
		return false
	}
	if s.idle > 0 {
		s.idle--
		return false
	}
	return true
}

// spin makes a process that was woken look for more to do.
func (s *simulator) spin(r cost) {
	if r.spin > 0 {
		s.waiting.Push(cpuRequest{took: r.spin})
	}
}

// sharedBelow models the scheduler of the clients in the server's process: a client that computes for less than so many nanoseconds is
// not worth a worker of its own.
const sharedBelow = 20_000

// compute requests a core for the current acts of a client.
func (s *simulator) compute(c *clientModel) {
	computes, _ := c.work()
	r := cpuRequest{c, c.reading + computes, s.wall}
	c.reading = 0
	if l := s.lineOf(c); l != nil && r.took < sharedBelow {
		c.shares = true
		l.waiting.Push(r)
		return
	}
	c.shares = false
	s.waiting.Push(r)
}

// lineOf returns the line of a client's process; nil: the client is its only one.
func (s *simulator) lineOf(c *clientModel) *line {
	switch {
	case c.inside:
		return &s.line
	case c.process != nil:
		return &c.process.line
	}
	return nil
}

// release takes the core from a client.
func (s *simulator) release(c *clientModel) {
	s.busy--
	if c.shares {
		s.lineOf(c).taken = false
	}
}

// toServer gives the outbox of a client to the server, and wakes the server.
func (s *simulator) toServer(c *clientModel) {
	m, r := &s.server, s.cost(c)
	m.take(c, r)
	m.reading += r.end
	if p := c.process; p != nil {
		for _, other := range p.late {
			m.take(other, r)
		}
		p.late = p.late[:0]
	}
	switch {
	case m.state != idle:
	case r.wake > 0 && !c.inside: // a client in its process does the server's work itself
		m.state = waking
		s.schedule(r.wake, nil, func(s *simulator, _ *clientModel) { s.server.state = ready })
		s.spin(r)
	default:
		m.state = ready
	}
}

// take takes the outbox of a client.
func (m *serverModel) take(c *clientModel, r cost) {
	m.inbox = append(m.inbox, c.outbox...)
	stepping := int64(len(c.outbox)) * r.serve
	m.reading, m.stepping = m.reading+stepping, m.stepping+stepping
	c.outbox = c.outbox[:0]
}

// toClient returns what the server writes to a client at the end of this round.
func (s *simulator) toClient(c *clientModel) *inbound {
	if !c.inbound.any {
		c.inbound.any = true
		s.server.recipients = append(s.server.recipients, c)
		if p := c.process; p == nil || !p.told {
			s.server.writing += s.cost(c).end
			if p != nil {
				p.told = true
			}
		}
	}
	return &c.inbound
}

// A pool holds values to be used again.
type pool[T any] []*T

func (p *pool[T]) get() *T {
	n := len(*p)
	if n == 0 {
		return new(T)
	}
	v := (*p)[n-1]
	*p = (*p)[:n-1]
	return v
}

// recycle takes back the memory of an event.
func (s *simulator) recycle(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Send:
		s.sends = append(s.sends, ev)
	case *metasim.Advance:
		s.advances = append(s.advances, ev)
	case *metasim.PollWait:
		s.polls = append(s.polls, ev)
	}
}

// cost returns the cost of communicating with a client.
func (s *simulator) cost(c *clientModel) cost {
	r := s.costs.outside
	if c.inside {
		r = s.costs.inside
	}
	if s.cores == 1 {
		r.wake, r.spin = 0, 0
		if !c.inside {
			r.end -= r.end / 8
		}
	}
	return r
}
