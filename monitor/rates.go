package monitor

import (
	"time"

	"metasim/metasim"
	"metasim/server"
)

// A sample is what is remembered of a look, to compute rates from.
type sample struct {
	at        time.Time
	paused    time.Duration
	now       metasim.Time
	grants    uint64
	delivered uint64
	clients   []counters
}

type counters struct {
	clock    metasim.Time
	messages uint64
	blocked  time.Duration
}

// rates are those of the last seconds.
type rates struct {
	factor, grants, messages float64
	clients                  []rate
}

type rate struct {
	factor   float64 // simulated seconds in a second
	messages float64 // in a second
	blocked  float64 // share
}

// leastGoing is how long, in seconds, a run must have gone on to say how fast.
const leastGoing = 1e-3

// rates takes in a look, and compares it with the oldest one that is remembered.
func (m *Monitor) rates(shot *server.Snapshot, at time.Time) rates {
	s := sample{at: at, paused: shot.Paused, now: shot.Now.Time, grants: shot.Grants, delivered: shot.Totals.Delivered}
	s.clients = make([]counters, len(shot.Clients))
	for i := range shot.Clients {
		c := &shot.Clients[i]
		s.clients[i] = counters{clock: c.Clock.Time, messages: c.Sent + c.Delivered, blocked: c.Blocked}
	}
	m.accuse(shot, at)
	m.samples = append(m.samples, s)
	for len(m.samples) > 2 && at.Sub(m.samples[1].at) >= lately {
		m.samples = m.samples[1:]
	}
	old := &m.samples[0]
	r := rates{clients: make([]rate, len(s.clients))}
	wall := at.Sub(old.at).Seconds()
	if wall <= 0 {
		return r
	}
	r.grants, r.messages = float64(s.grants-old.grants)/wall, float64(s.delivered-old.delivered)/wall
	going := wall - (s.paused - old.paused).Seconds()
	factor := func(now, then metasim.Time) float64 {
		if going < leastGoing || now == metasim.Forever {
			return 0
		}
		return (now - then).Seconds() / going
	}
	r.factor = factor(s.now, old.now)
	for i := range s.clients {
		r.clients[i] = rate{
			factor:   factor(s.clients[i].clock, old.clients[i].clock),
			messages: float64(s.clients[i].messages-old.clients[i].messages) / wall,
			blocked:  min(1, (s.clients[i].blocked-old.clients[i].blocked).Seconds()/wall),
		}
	}
	return r
}
