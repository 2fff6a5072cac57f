package predict

import (
	"errors"
	"fmt"

	"metasim/analysis/trace"
	"metasim/metasim"
	"metasim/wire/session"
)

// simulate simulates a workload with changes to its end.
func (m *Model) simulate(w *workload, changes []Change) (*simulator, error) {
	s, err := newSimulator(m.t, w, changes)
	if err != nil {
		return nil, err
	}
	return s, s.run()
}

// errStuck ends a prediction in which no client can go on. It is a mistake in this package, or the changed run is impossible.
var errStuck = errors.New("the run would stand still")

// run simulates to the end: wall is how long the run takes, in nanoseconds.
func (s *simulator) run() error {
	for i, c := range s.clients {
		join := c.log.Join
		join.Client, join.Reaction = metasim.ClientID(i), c.react
		s.carryOut(s.d.Step(&join))
	}
	s.carryOut(s.d.Step(&metasim.Begin{}))
	for _, c := range s.clients {
		if len(c.log.Acts) > 0 {
			c.acts = append(c.acts, 0) // the first act is the initialization
		}
		s.wake(c)
	}
	s.start()
	for s.err == nil && s.events.Len() > 0 {
		s.wall = s.events.First().wall
		for s.events.Len() > 0 && s.events.First().wall == s.wall {
			e := s.events.Pop()
			e.then(s, e.client)
		}
		s.start()
	}
	if s.err != nil {
		return s.err
	}
	for _, c := range s.clients {
		if !c.left {
			return errStuck
		}
	}
	return nil
}

// share returns which share of the run's acts happened.
func (s *simulator) share() float64 {
	did := 0
	for _, c := range s.clients {
		did += len(c.log.Acts) - c.undone
	}
	return trace.Ratio(float64(did), float64(s.acts))
}

// least returns what the run takes at least, in nanoseconds: its work on the longest chain of messages, and what the cores can do.
func (s *simulator) least() int64 {
	if s.cores > 0 {
		return max(s.path, s.computes/int64(s.cores))
	}
	return s.path
}

// start gives cores to those that wait for one: to the server first, then in order.
func (s *simulator) start() {
	s.beginRound()
	for s.freeCore() {
		from := &s.waiting
		for _, l := range s.lines {
			if !l.taken && l.waiting.Len() > 0 {
				from, l.taken = &l.waiting, true
				break
			}
		}
		next := from.First()
		if next == nil {
			return
		}
		if s.busy++; next.client == nil {
			s.schedule(next.took, nil, func(s *simulator, _ *clientModel) { s.busy-- })
		} else {
			s.waited += s.wall - next.since
			next.client.begin()
			s.schedule(next.took, next.client, (*simulator).computed)
		}
		from.Drop(1)
	}
}

// beginRound begins a round of the server, if it has something to read, and a core.
func (s *simulator) beginRound() {
	m := &s.server
	if m.state != ready || !s.freeCore() || s.shared && s.line.taken {
		return
	}
	if len(m.inbox) == 0 {
		m.state = idle
		return
	}
	inbox, took, stepping := m.inbox, m.reading, m.stepping
	m.inbox, m.reading, m.stepping = m.spare[:0], 0, 0
	for _, ev := range inbox {
		s.carryOut(s.d.Step(ev))
		s.recycle(ev)
	}
	s.carryOut(s.d.Settle())
	clear(inbox)
	m.spare = inbox[:0]
	m.state = working
	s.busy++
	s.line.taken = s.line.taken || s.shared
	s.schedule(took+m.writing, nil, (*simulator).endRound)
	s.rounds += stepping + m.writing
	m.writing = 0
}

// endRound ends a round: the clients receive what the server has written.
func (s *simulator) endRound(*clientModel) {
	m := &s.server
	m.state = ready
	s.busy--
	s.line.taken = s.line.taken && !s.shared
	for _, c := range m.recipients {
		if c.process != nil {
			c.process.told = false
		}
		c.receive()
		s.resume(c)
	}
	s.idle = 0 // a worker that finds nothing to do sleeps
	clear(m.recipients)
	m.recipients = m.recipients[:0]
}

// carryOut takes the dispatcher's effects.
func (s *simulator) carryOut(effects []metasim.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			m, c := e.Message, s.clients[e.To]
			path := s.clients[m.From].sentPath[m.Seq]
			m.Seq = s.clients[m.From].sent[m.Seq]
			in := s.toClient(c)
			in.messages = append(in.messages, m)
			in.paths = append(in.paths, path)
			s.server.writing += s.cost(c).serve
		case *metasim.Authorize:
			in := s.toClient(s.clients[e.To])
			in.granted, in.quiet = e.Until, e.QuietUntil
		case *metasim.Finish:
			if e.Err != nil && s.err == nil {
				s.err = fmt.Errorf("the run would fail: %w", e.Err)
			}
		}
	}
}

// computed lets a client that has computed its acts sleep for the rest of them, without a core.
func (s *simulator) computed(c *clientModel) {
	_, sleeps := c.work()
	if sleeps == 0 || c.slept {
		c.slept = false
		s.done(c)
		return
	}
	s.release(c)
	c.slept, c.shares = true, false
	s.schedule(sleeps, c, func(s *simulator, c *clientModel) { s.waiting.Push(cpuRequest{client: c, since: s.wall}) })
}

// done ends the acts of a client that has computed them. The client goes on if it may, and writes if it must.
func (s *simulator) done(c *clientModel) {
	computes, sleeps := c.work()
	c.path += computes + sleeps
	s.path, s.computes = max(s.path, c.path), s.computes+computes
	for _, k := range c.acts {
		s.publish(c, k)
	}
	c.settle()
	next := c.next()
	switch may := next.Before(c.granted); {
	case c.undone == 0 && !c.again || !may && c.granted == metasim.Infinity: // nothing can happen any more
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
		if s.costs.known && !session.Helps(next, c.quiet) && s.wall-c.since < session.KeepFor && !c.process.owes() {
			s.goOn(c)
			return
		}
		c.quiet = metasim.Infinity // once is enough
	}
	r := s.cost(c)
	if c.late = c.process != nil && c.process.ready > 0; c.late {
		r.end = 0
	}
	s.schedule(r.end+int64(len(c.outbox))*r.item, c, (*simulator).send)
}

// send hands the outbox that a client has written to the server. The client goes on, or waits.
func (s *simulator) send(c *clientModel) {
	polls := c.polls
	c.polls = false
	if p := c.process; p != nil && c.late {
		p.late = append(p.late, c)
	} else {
		s.toServer(c)
	}
	if p := c.process; p != nil && (polls || c.left) {
		p.active--
	}
	switch {
	case c.left:
		s.release(c)
	case polls:
		s.release(c)
		if c.inside && !c.shares {
			s.idle++
		}
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
	computes, _ := c.work()
	s.schedule(computes, c, (*simulator).computed)
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
	s.wake(c)
}

// publish says what an act sends.
func (s *simulator) publish(c *clientModel, k int32) {
	end := c.log.Acts[k].Sends
	for i := end - c.sends(k); i < end; i++ {
		send := c.log.Sends[i]
		origin := uint64(i)
		if c.origins != nil {
			origin = c.origins[i]
		}
		c.sent, c.sentPath = append(c.sent, origin), append(c.sentPath, c.path)
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
