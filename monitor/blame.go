package monitor

import (
	"math"
	"slices"
	"time"

	"metasim/server"
)

// shown is the least blame that is shown, with one digit after the point.
const shown = 0.05

// updateBlame adds how many clients wait for each client now. Earlier blame fades exponentially. While the run is paused the blame
// stays as it is.
func (m *Monitor) updateBlame(shot *server.Snapshot, at time.Time) {
	fade := 0.0
	if n := len(m.samples); n > 0 {
		fade = math.Exp(-at.Sub(m.samples[n-1].at).Seconds() / recent.Seconds())
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
	m.slowest = m.mostBlamed(shot)
}

// rank is a coarse order by blame: each rank is for twice as much as the one before. A client whose blame is only a little over the
// edge keeps the rank it had, because rows that change places all the time cannot be read.
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

// mostBlamed is the client that others waited for most; or -1. It stays until another one has clearly more blame.
func (m *Monitor) mostBlamed(shot *server.Snapshot) int {
	const clearly = 1.3
	departed := func(i int) bool { s := shot.Clients[i].State; return s == server.Left || s == server.Lost }
	worst, least := -1, shown
	if was := m.slowest; was >= 0 && !departed(was) && m.blame[was] >= shown {
		worst, least = was, clearly*m.blame[was]
	}
	for i, b := range m.blame {
		if b >= least && !departed(i) {
			worst, least = i, b
		}
	}
	return worst
}

// toExplain is the client whose wait explains the run: the one furthest behind of those that wait for the most blamed client; if none
// waits, the one that has been silent for longest; or -1.
func (m *Monitor) toExplain(shot *server.Snapshot) int {
	if root := m.root(shot); root >= 0 {
		return behind(shot, root)
	}
	return quietest(shot)
}

// root is the client with the most blame, of those that others wait for now; or -1.
func (m *Monitor) root(shot *server.Snapshot) int {
	most := -1
	for i := range shot.Clients {
		if c := &shot.Clients[i]; c.Held && c.State == server.Waiting {
			if root := int(c.Root); most < 0 || m.blame[root] > m.blame[most] {
				most = root
			}
		}
	}
	return most
}

// waitsForRate reports whether the run was ahead of its rate recently: then it waits for its rate, whatever else it waits for in
// between.
func (m *Monitor) waitsForRate() bool { return m.samples[len(m.samples)-1].at.Sub(m.paced) < recent }
