package monitor

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// minRunning is the least time over which rates are computed. The first is over the time since the run started.
const minRunning = time.Millisecond

// measure takes a sample of a snapshot.
func (m *Monitor) measure(shot *server.Snapshot) {
	if m.blame == nil {
		n := len(shot.Clients)
		m.blame, m.ranks, m.places, m.past.held = make([]float64, n), make([]int, n), places(shot), make([]time.Duration, n)
	}
	if !shot.Started {
		return
	}
	if len(m.samples) == 0 {
		m.samples = append(m.samples, sample{clients: make([]counters, len(shot.Clients))}) // the start of the run
		m.past.marks = append(m.past.marks, mark{})
	}
	s := sample{
		wall: shot.Running, running: shot.Running - shot.Paused, reached: shot.Reached, grants: shot.Grants, delivered: shot.Totals.Delivered,
		clients: make([]counters, len(shot.Clients)),
	}
	for i := range shot.Clients {
		c := &shot.Clients[i]
		s.clients[i] = counters{clock: c.Clock.Time, messages: c.Sent + c.Delivered, blocked: c.Blocked, held: c.HeldOthers}
	}
	if n := len(m.samples); n > 1 && s.running-m.samples[n-1].running < minRunning {
		m.samples[n-1] = s // of the same pause
	} else {
		m.samples = append(m.samples, s)
	}
	for len(m.samples) > 2 && s.running-m.samples[1].running >= recent {
		m.samples = m.samples[1:]
	}
}

// window returns the samples between which rates are computed, and for how many seconds the run went on between them; 0: there is no rate.
func (m *Monitor) window() (old, now *sample, running float64) {
	if len(m.samples) < 2 {
		return nil, nil, 0
	}
	old, now = &m.samples[0], &m.samples[len(m.samples)-1]
	if now.running-old.running < minRunning {
		return nil, nil, 0
	}
	return old, now, (now.running - old.running).Seconds()
}

// setRates sets the rates of a view and of its rows, which are in the order of the snapshot.
func (m *Monitor) setRates(v *View) {
	old, now, running := m.window()
	if running == 0 {
		return
	}
	factor := func(now, then metasim.Time) float64 {
		if now == metasim.Forever {
			return 0
		}
		return (now - then).Seconds() / running
	}
	v.Factor = factor(now.reached, old.reached)
	v.GrantsS, v.MessagesS = float64(now.grants-old.grants)/running, float64(now.delivered-old.delivered)/running
	for i := range now.clients {
		row, now, then := &v.Clients[i], &now.clients[i], &old.clients[i]
		row.Factor = factor(now.clock, then.clock)
		row.MessagesS = float64(now.messages-then.messages) / running
	}
	wall := (now.wall - old.wall).Seconds() // a client is blocked in a pause too
	for i := range now.clients {
		v.Clients[i].Blocked = min(1, (now.clients[i].blocked-old.clients[i].blocked).Seconds()/wall)
	}
}

const (
	pastTime   = 2 * time.Second // the least time of a Past
	maxPast    = 120             // how many a View has
	maxHolders = 5               // of a Past, those that others waited for longest
	etaMarks   = 30              // of the last minute
)

// Remember keeps the History of the views while nobody asks for one, until the run is over or ctx is done. Each pastTime it takes a snapshot;
// of a very large run less often, so that this too takes at most one part in maxShare of the time.
func (m *Monitor) Remember(ctx context.Context) {
	pause := pastTime
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.over:
			return
		case <-time.After(pause):
			pause = max(pastTime, m.look())
		}
	}
}

// look remembers what a snapshot says, and returns for how long not to take the next one.
func (m *Monitor) look() (pause time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	shot := m.server.Snapshot()
	m.measure(&shot)
	m.past.add(&shot)
	return maxShare * shot.Took
}

// add remembers a snapshot, if pastTime has gone by since the one before.
func (p *past) add(shot *server.Snapshot) {
	if !shot.Started {
		return
	}
	last, running := p.marks[len(p.marks)-1], shot.Running-shot.Paused
	if running-last.running < pastTime {
		return
	}
	p.parts = append(slices.Clone(p.parts[max(0, len(p.parts)-maxPast+1):]), p.part(shot, last.running, running)) // views share it
	p.marks = append(p.marks[max(0, len(p.marks)-etaMarks+1):], mark{running, shot.Reached})
}

// remember sets what a view says of the time before, and of the time to come.
func (m *Monitor) remember(v *View, shot *server.Snapshot) {
	m.past.add(shot)
	v.History = m.past.parts
	if shot.Started && !shot.Over {
		v.EtaS = m.past.eta(shot, shot.Running-shot.Paused)
	}
}

// part returns who held up others since the last mark.
func (p *past) part(shot *server.Snapshot, from, to time.Duration) Past {
	part := Past{FromS: from.Seconds(), ToS: to.Seconds(), Holders: []Holder{}}
	for i := range shot.Clients {
		c := &shot.Clients[i]
		if b := float64(c.HeldOthers-p.held[i]) / float64(to-from); b >= shown {
			part.Holders = append(part.Holders, Holder{c.Name, b})
		}
		p.held[i] = c.HeldOthers
	}
	slices.SortStableFunc(part.Holders, func(a, b Holder) int { return cmp.Compare(b.Blame, a.Blame) })
	part.Holders = part.Holders[:min(len(part.Holders), maxHolders)]
	return part
}

// eta returns in how many seconds the run ends if it goes on as fast as in the last minute.
func (p *past) eta(shot *server.Snapshot, running time.Duration) *float64 {
	began := p.marks[0]
	done, took := (shot.Reached - began.reached).Seconds(), (running - began.running).Seconds()
	if shot.End == metasim.Infinity || done <= 0 || took < minRunning.Seconds() || shot.Reached == metasim.Forever {
		return nil
	}
	rest := max(0, (shot.End.Time-shot.Reached).Seconds()) * took / done
	if math.IsInf(rest, 1) {
		return nil
	}
	return &rest
}
