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
	if r.wake == 0 {
		s.compute(c)
		return
	}
	s.schedule(r.wake, c, (*simulator).compute)
	s.spin(r)
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
	if c.shares = c.inside && r.took < sharedBelow; c.shares {
		s.inLine.Push(r)
		return
	}
	s.waiting.Push(r)
}

// release takes the core from a client.
func (s *simulator) release(c *clientModel) {
	s.busy--
	if c.shares {
		s.taken = false
	}
}

// toServer gives the outbox of a client to the server, and wakes the server.
func (s *simulator) toServer(c *clientModel) {
	m, r := &s.server, s.cost(c)
	m.inbox = append(m.inbox, c.outbox...)
	m.reading += r.end + int64(len(c.outbox))*r.serve
	c.outbox = c.outbox[:0]
	switch {
	case m.state != idle:
	case r.wake > 0:
		m.state = waking
		s.schedule(r.wake, nil, func(s *simulator, _ *clientModel) { s.server.state = ready })
		s.spin(r)
	default:
		m.state = ready
	}
}

// toClient returns what the server writes to a client at the end of this round.
func (s *simulator) toClient(c *clientModel) *inbound {
	if !c.inbound.any {
		c.inbound.any = true
		s.server.recipients = append(s.server.recipients, c)
		s.server.writing += s.cost(c).end
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

// A cost is what it takes the server and one client to communicate, in nanoseconds.
type cost struct {
	end   int64 // of a frame: for the writer, and again for the reader
	item  int64 // of each event and message in it, for the client
	serve int64 // of each event and message in it, for the server
	wake  int64 // until a waiting process has noticed the frame; this takes no core
	spin  int64 // afterwards that process looks for more to do, on another core
}

// The usual costs, measured with Go on Linux. On one core a write between processes costs an eighth less, as no process is woken on
// another core.
var (
	usualInside  = cost{end: 300, serve: 500}
	usualOutside = cost{end: 8000, item: 700, serve: 1000, wake: 5000, spin: 20_000}
)

// costs are those of a run. The zero value: communication is free, and clients write every report at once.
type costs struct {
	inside  cost // of clients in the server's process
	outside cost
	known   bool
}

// usualCosts returns the usual costs times a factor.
func usualCosts(factor float64) costs {
	return costs{usualInside.times(factor), usualOutside.times(factor), true}
}

func (c cost) times(factor float64) cost {
	times := func(ns int64) int64 { return int64(float64(ns) * factor) }
	return cost{times(c.end), times(c.item), times(c.serve), times(c.wake), times(c.spin)}
}

// cost returns the cost of communicating with a client.
func (s *simulator) cost(c *clientModel) cost {
	if c.inside {
		return s.costs.inside
	}
	r := s.costs.outside
	if s.cores == 1 {
		r.end, r.wake, r.spin = r.end-r.end/8, 0, 0
	}
	return r
}
