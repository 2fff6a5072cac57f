package monitor

import (
	"fmt"
	"math"
	"slices"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// shown is the least blame that is shown: it is written with one digit behind the point.
const shown = 0.05

// accuse counts for how many each client holds up now, and lets what was before fade. While the run is paused nobody holds
// anybody up: what was before stays to be looked at.
func (m *Monitor) accuse(shot *server.Snapshot, at time.Time) {
	fade := 0.0
	if n := len(m.samples); n > 0 {
		fade = math.Exp(-at.Sub(m.samples[n-1].at).Seconds() / lately.Seconds())
	} else {
		m.blame, m.ranks, m.places = make([]float64, len(shot.Clients)), make([]int, len(shot.Clients)), places(shot)
	}
	if stops(shot) {
		return
	}
	if slices.ContainsFunc(shot.Clients, func(c server.ClientSnapshot) bool { return c.Halted }) {
		m.paced = at
	}
	for i := range m.blame {
		m.blame[i] *= fade
	}
	for i := range shot.Clients {
		if c := &shot.Clients[i]; c.Held && c.State == server.Waiting {
			m.blame[c.Root] += 1 - fade
		}
	}
	for i, b := range m.blame {
		m.ranks[i] = rank(m.ranks[i], b)
	}
	m.slowest = m.worse(shot)
}

// rank sorts by blame, roughly: each is for twice as much as the one before. Who is a little over the edge keeps the one
// that it had, as rows that change places all the time cannot be read.
func rank(had int, blame float64) int {
	const edge = 1.2
	if lower := shown * math.Exp2(float64(had-1)); blame >= lower/edge && blame < 2*lower*edge && (had > 0 && blame >= shown) {
		return had
	}
	if blame < shown {
		return 0
	}
	return 1 + int(math.Log2(blame/shown))
}

// worse is whom the others wait for most, lately; or -1. Another one must be clearly worse than who was found before.
func (m *Monitor) worse(shot *server.Snapshot) int {
	const clearly = 1.3
	gone := func(i int) bool { s := shot.Clients[i].State; return s == server.Left || s == server.Lost }
	worst, least := -1, shown
	if was := m.slowest; was >= 0 && !gone(was) && m.blame[was] >= shown {
		worst, least = was, clearly*m.blame[was]
	}
	for i, b := range m.blame {
		if b >= least && !gone(i) {
			worst, least = i, b
		}
	}
	return worst
}

// story is who holds the others up, and why, or what else keeps the run from going on: see View.
func (m *Monitor) story(shot *server.Snapshot) (slowest string, chain []string) {
	switch {
	case shot.Over:
		return "", nil
	case shot.Started && stops(shot) && shot.Halt.Still:
		return "", []string{halted(shot)}
	case shot.Started && stops(shot):
		return "", m.pausing(shot)
	case m.slowest < 0 || m.keepsPace():
		return "", m.calm(shot)
	}
	id := m.slowest
	if waits := behind(shot, id); waits >= 0 {
		id = waits
	}
	return shot.Clients[m.slowest].Name, m.tell(shot, metasim.ClientID(id), m.glance())
}

// calm is what keeps a run in which nobody holds up others.
func (m *Monitor) calm(shot *server.Snapshot) []string {
	if id := quietest(shot); id >= 0 && (!shot.Started || shot.Wall-shot.Clients[id].Since >= quiet) {
		return []string{m.plight(shot, metasim.ClientID(id), m.glance())}
	}
	if m.keepsPace() {
		return []string{halted(shot)}
	}
	return nil
}

// keepsPace reports whether the run was ahead of its pace, lately: then it is the pace that keeps it, whoever else does so
// in between.
func (m *Monitor) keepsPace() bool { return m.samples[len(m.samples)-1].at.Sub(m.paced) < lately }

// pausing says who is on the way to where it must wait.
func (m *Monitor) pausing(shot *server.Snapshot) []string {
	id := quietest(shot)
	if id < 0 {
		return []string{"the run is being paused"}
	}
	c := &shot.Clients[id]
	ahead := ""
	if c.Granted.Time > shot.Now.Time {
		ahead = fmt.Sprintf(": it may go on to %v, as it was authorized before", c.Granted)
	}
	return []string{
		fmt.Sprintf("the run is being paused at %v, and %s is on its way to where it must wait%s", shot.Now, c.Name, ahead),
		m.plight(shot, metasim.ClientID(id), m.glance()),
	}
}

// quiet is how long a client must have said nothing for its process to be looked at, which a client that is just fast need
// not be.
const quiet = time.Second

// glance looks at processes without waiting: what one computed is known from the second look on.
func (m *Monitor) glance() look {
	at := func(pid int) Vitals {
		before := m.seen
		if pid != m.seenPID {
			before = glimpse{}
		}
		m.seen, m.seenPID = probe(pid), pid
		return since(before, m.seen)
	}
	return look{at: at, after: quiet}
}
