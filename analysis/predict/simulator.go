package predict

import (
	"errors"
	"fmt"

	"metasim/analysis/trace"
	"metasim/delay"
	"metasim/metasim"
)

// newSimulator returns a simulator of a workload with changes. Of several changes of one thing the last one counts.
func newSimulator(t *trace.Timeline, w *workload, changes []Change) (*simulator, error) {
	config := w.Config
	config.Delays = withChanges(config.Delays, changes)
	config.Until = 0 // all acts are repeated: a part of them could not be compared with the run
	config.MaxSteps = ^uint32(0)
	d, err := metasim.New(config)
	if err != nil {
		return nil, err
	}
	s := &simulator{d: d, channels: t.Channels, costs: w.costs}
	s.events.Less = func(a, b *event) bool { return a.wall < b.wall || a.wall == b.wall && a.order < b.order }
	if !w.free {
		s.cores = w.Cores
	}
	for _, c := range changes {
		if c.what == changeCores {
			s.cores = c.cores
		}
	}
	size := uint32(0)
	for i := range w.Clients {
		c := newClientModel(metasim.ClientID(i), &w.Clients[i])
		c.inside = c.log.Inside && !w.free
		c.change(t.Names[i], changes)
		s.shared = s.shared || c.inside
		s.clients = append(s.clients, c)
		for _, send := range w.Clients[i].Sends {
			size = max(size, send.Size)
		}
	}
	s.payload = make([]byte, size)
	return s, nil
}

// change applies changes to a client.
func (c *clientModel) change(name string, changes []Change) {
	for _, change := range changes {
		if !delay.Match(change.from, name) {
			continue
		}
		switch change.what {
		case changeSpeed:
			c.speed = change.speed
		case changePromise:
			c.promise(change.time)
		case changeReaction:
			c.react = change.time
		}
	}
}

// errStuck ends a prediction in which no client can go on. It is a mistake in this package, or the changed run is impossible.
var errStuck = errors.New("the run would stand still")

// run returns how long the run takes, in nanoseconds of wall-clock time.
func (s *simulator) run() (int64, error) {
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
		s.wake(c, 0)
	}
	s.start()
	for s.err == nil && s.events.Len() > 0 {
		s.wall = s.events.First().wall
		for s.events.Len() > 0 && s.events.First().wall == s.wall {
			s.handle(s.events.Pop())
		}
		s.start()
	}
	if s.err != nil {
		return 0, s.err
	}
	for _, c := range s.clients {
		if !c.left {
			return 0, errStuck
		}
	}
	return s.wall, nil
}

// share returns which share of the run's acts happened.
func (s *simulator) share() float64 {
	all, undone := 0, 0
	for _, c := range s.clients {
		all += len(c.log.Acts)
		undone += c.undone
	}
	return 1 - ratio(float64(undone), float64(all))
}

func (s *simulator) handle(e event) {
	switch c := e.client; e.kind {
	case clientWoken:
		s.compute(c)
	case computed:
		s.done(c)
	case wrote:
		s.send(c)
	case spun:
		s.busy--
	case serverWoken:
		s.server.state = ready
	case roundEnded:
		s.endRound()
	}
}

// start gives cores to those that wait for one: to the server first, then in order.
func (s *simulator) start() {
	s.beginRound()
	for s.freeCore() {
		from := &s.waiting
		if !s.taken && s.inLine.First() != nil {
			from, s.taken = &s.inLine, true
		}
		next := from.First()
		if next == nil {
			return
		}
		if s.busy++; next.client == nil {
			s.schedule(next.took, nil, spun)
		} else {
			s.schedule(next.took, next.client, computed)
		}
		from.Drop(1)
	}
}

// beginRound begins a round of the server, if it has something to read, and a core.
func (s *simulator) beginRound() {
	m := &s.server
	if m.state != ready || !s.freeCore() || s.shared && s.taken {
		return
	}
	if len(m.inbox) == 0 {
		m.state = idle
		return
	}
	inbox, took := m.inbox, m.reading
	m.inbox, m.reading = m.spare[:0], 0
	for _, ev := range inbox {
		s.carryOut(s.d.Step(ev))
		s.recycle(ev)
	}
	s.carryOut(s.d.Settle())
	clear(inbox)
	m.spare = inbox[:0]
	m.state = working
	s.busy++
	s.taken = s.taken || s.shared
	s.schedule(took+m.writing, nil, roundEnded)
	m.writing = 0
}

// endRound ends a round: the clients receive what the server has written.
func (s *simulator) endRound() {
	m := &s.server
	m.state = ready
	s.busy--
	s.taken = s.taken && !s.shared
	for _, c := range m.recipients {
		c.receive()
		s.resume(c)
	}
	clear(m.recipients)
	m.recipients = m.recipients[:0]
}

// carryOut takes the dispatcher's effects.
func (s *simulator) carryOut(effects []metasim.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			m := e.Message
			m.Seq = s.clients[m.From].sent[m.Seq]
			s.deliver(s.clients[e.To], m)
		case *metasim.Authorize:
			s.authorize(s.clients[e.To], e)
		case *metasim.Finish:
			if e.Err != nil && s.err == nil {
				s.err = fmt.Errorf("the run would fail: %w", e.Err)
			}
		}
	}
}
