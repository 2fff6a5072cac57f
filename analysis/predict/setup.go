package predict

import (
	"slices"

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
		s.cores = t.Cores
	}
	for _, c := range changes {
		if c.what == changeCores {
			s.cores = c.number
		}
	}
	size := uint32(0)
	for i := range w.Clients {
		log, origins := periodOf(t.Names[i], &w.Clients[i], changes)
		c := newClientModel(metasim.ClientID(i), log)
		c.origins, c.again = origins, slices.ContainsFunc(changes, func(c Change) bool { return c.what == changePeriod })
		c.inside = c.log.Inside && !w.free
		c.change(t.Names[i], changes)
		s.clients = append(s.clients, c)
		s.acts += len(w.Clients[i].Acts)
		for _, send := range w.Clients[i].Sends {
			size = max(size, send.Size)
		}
	}
	s.place(t, w, changes)
	if s.cores == 1 && t.Cores > 1 && w.frames > mostFrames {
		s.costs.outside = s.costs.outside.times(mostFrames/w.frames, 1) // the rest was to wake somebody up on another core
	}
	s.payload = make([]byte, size)
	return s, nil
}

// periodOf returns the log of a client, with another period if a change says so.
func periodOf(name string, log *trace.ClientLog, changes []Change) (*trace.ClientLog, []uint64) {
	for _, c := range slices.Backward(changes) {
		if c.what == changePeriod && delay.Match(c.from, name) {
			return withPeriod(log, c.time)
		}
	}
	return log, nil
}

// place puts the clients into processes, and gives their connections costs.
func (s *simulator) place(t *trace.Timeline, w *workload, changes []Change) {
	s.lines = []*line{&s.line}
	processes := map[int]*process{} // by number; looked up, never iterated
	for _, change := range changes {
		switch change.what {
		case changePlace:
			for _, c := range s.clients {
				c.inside, c.process = change.transport == inProcess && !w.free, nil
			}
			if change.transport != inProcess {
				ratio := transportCost(change.transport) / transportCost(t.Transport)
				s.costs.outside = w.costs.outside.times(ratio, ratio)
			}
		case changeProcess:
			p := processes[change.number]
			if p == nil {
				p = &process{}
				processes[change.number] = p
				s.lines = append(s.lines, &p.line)
			}
			for i, c := range s.clients {
				if delay.Match(change.from, t.Names[i]) && !w.free {
					c.inside, c.process = false, p
				}
			}
		}
	}
	s.shared = slices.ContainsFunc(s.clients, func(c *clientModel) bool { return c.inside })
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
