package monitor

import (
	"math"
	"slices"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// updateBlame sets how many clients waited for each client recently, on average: the server has counted all of it. While the run is
// paused the blame stays as it is.
func (m *Monitor) updateBlame(shot *server.Snapshot, at time.Time) {
	m.at = at
	if stops(shot) {
		return
	}
	if slices.ContainsFunc(shot.Clients, func(c server.ClientSnapshot) bool { return c.Halted == metasim.Paused }) {
		m.paced = at
	}
	old, now, running := m.window()
	if running == 0 {
		return
	}
	for i := range m.blame {
		m.blame[i] = (now.clients[i].held - old.clients[i].held).Seconds() / running
		m.ranks[i] = rank(m.ranks[i], m.blame[i])
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
	if id := shortOfCredit(shot); id >= 0 {
		return id
	}
	return quietest(shot)
}

// shortOfCredit is the client furthest behind of those that wait for the run around this one; or -1.
func shortOfCredit(shot *server.Snapshot) int {
	last := -1
	for i := range shot.Clients {
		if c := &shot.Clients[i]; c.Halted == metasim.NoCredit && (last < 0 || c.Clock.Before(shot.Clients[last].Clock)) {
			last = i
		}
	}
	return last
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
func (m *Monitor) waitsForRate() bool { return m.at.Sub(m.paced) < recent }
