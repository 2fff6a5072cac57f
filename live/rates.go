package live

import (
	"math"
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
	messages uint64
	blocked  time.Duration
}

// rates are those of the last seconds.
type rates struct {
	factor, grants, messages float64
	clients                  []rate
}

type rate struct {
	messages float64 // in a second
	blocked  float64 // share
}

// rates takes in a look, and compares it with the oldest one that is remembered.
func (m *Monitor) rates(shot *server.Snapshot, at time.Time) rates {
	s := sample{at: at, paused: shot.Paused, now: shot.Now.Time, grants: shot.Grants, delivered: shot.Totals.Delivered}
	s.clients = make([]counters, len(shot.Clients))
	for i := range shot.Clients {
		c := &shot.Clients[i]
		s.clients[i] = counters{messages: c.Sent + c.Delivered, blocked: c.Blocked}
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
	if going := wall - (s.paused - old.paused).Seconds(); going > 0 && s.now != metasim.Forever {
		r.factor = (s.now - old.now).Seconds() / going
	}
	for i := range s.clients {
		r.clients[i] = rate{
			messages: float64(s.clients[i].messages-old.clients[i].messages) / wall,
			blocked:  min(1, (s.clients[i].blocked-old.clients[i].blocked).Seconds()/wall),
		}
	}
	return r
}

// accuse counts for how many each client holds up now, and lets what was before fade.
func (m *Monitor) accuse(shot *server.Snapshot, at time.Time) {
	fade := 0.0
	if n := len(m.samples); n > 0 {
		fade = math.Exp(-at.Sub(m.samples[n-1].at).Seconds() / lately.Seconds())
	} else {
		m.blame = make([]float64, len(shot.Clients))
	}
	for i := range m.blame {
		m.blame[i] *= fade
	}
	for i := range shot.Clients {
		if c := &shot.Clients[i]; c.Held && c.State == server.Waiting {
			m.blame[c.Root] += 1 - fade
		}
	}
}
