package monitor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// NewMonitor returns a monitor of a run; process returns the process of a client, as far as it is known. It takes a snapshot of the
// server only when a view is asked for.
func NewMonitor(s *server.Server, process func(client string) Process) *Monitor {
	return &Monitor{server: s, processOf: process, over: make(chan struct{}), slowest: -1}
}

// Close ends what the Handler still serves: with a view of the end of the run.
func (m *Monitor) Close() { m.once.Do(func() { close(m.over) }) }

// Warn sets the Warnings of the views from now on.
func (m *Monitor) Warn(texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.warned, m.next = texts, time.Time{}
}

func (m *Monitor) ended() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// View returns the state of the run a moment ago. It is shared: it must not be changed.
func (m *Monitor) View() View {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); !now.Before(m.next) || m.ended() && m.view.State != "over" {
		shot := m.server.Snapshot()
		m.take(&shot, now)
		m.next = now.Add(max(minInterval, min(maxShare*shot.Took, maxInterval)))
	}
	return m.view
}

// take makes the view of a snapshot.
func (m *Monitor) take(shot *server.Snapshot, at time.Time) {
	m.updateBlame(shot, at)
	v := View{
		Scenario: shot.Scenario, Seed: shot.Seed, State: state(shot), WallS: (shot.Running - shot.Paused).Seconds(),
		Now: instant(shot.Now), End: within(shot.End),
		Sent: shot.Totals.Sent, Delivered: shot.Totals.Delivered, Dropped: shot.Totals.Dropped, Grants: shot.Grants,
		Warnings: m.warned, Count: len(shot.Clients), States: map[string]int{}, Clients: make([]Client, len(shot.Clients)),
	}
	if shot.Err != nil {
		v.Error = shot.Err.Error()
	}
	if shot.Halt.Paused {
		v.PauseAt = within(shot.Halt.Limit)
	}
	if shot.Halt.Still {
		v.Next = within(shot.Halt.Next)
	}
	for i := range shot.Clients {
		v.Clients[i] = m.row(shot, i)
		v.States[v.Clients[i].State]++
	}
	m.setRates(&v, shot, at)
	v.Slowest, v.Chain = m.explain(shot)
	slices.SortFunc(v.Clients, blameFirst)
	v.Matching = v.Count
	m.view = v
}

// row makes the row of a client.
func (m *Monitor) row(shot *server.Snapshot, i int) Client {
	c := &shot.Clients[i]
	row := Client{
		place: m.places[i], rank: m.ranks[i],
		Name: c.Name, State: c.State.String(), SinceS: (shot.Wall - c.Since).Seconds(), Peer: c.Peer,
		PID: m.process(c).PID, At: instant(c.Clock), Safe: instant(metasim.Later(c.Safe, c.Granted)), Granted: instant(c.Granted),
		Queued: c.Queued, Given: c.Given, Sent: c.Sent, Delivered: c.Delivered, Grants: c.Grants,
		BusyS: c.Busy.Seconds(), BlockedS: c.Blocked.Seconds(), MemoryS: c.Starved.Seconds(), Blame: m.blame[i],
	}
	if c.State == server.Absent {
		row.rank = 1 // the others wait for it
	}
	if c.State != server.Waiting {
		return row
	}
	row.Want = within(c.Want)
	row.Short = c.Short
	switch {
	case c.Held:
		row.Holder, row.Root = shot.Clients[c.Holder].Name, shot.Clients[c.Root].Name
	case c.Halted && shot.Halt.Paused && !shot.Halt.Driver:
		row.Halted = "paused"
	case c.Halted:
		row.Halted = "pace"
	}
	return row
}

// blameFirst is the order of the rows: by blame, then by name; clients that have left or were lost come last.
func blameFirst(a, b Client) int {
	return cmp.Or(cmp.Compare(departed(a), departed(b)), cmp.Compare(b.rank, a.rank), cmp.Compare(a.place, b.place))
}

// departed is 1 for a client that has left or was lost, else 0.
func departed(c Client) int {
	if c.State == "left" || c.State == "lost" {
		return 1
	}
	return 0
}

// Page returns the view with the rows whose name or state has the words of a filter in it. A limit above 0 leaves the first rows only.
func (v View) Page(filter string, limit int) View {
	if words := strings.Fields(strings.ToLower(filter)); len(words) > 0 {
		v.Clients = slices.DeleteFunc(slices.Clone(v.Clients), func(c Client) bool {
			text := strings.ToLower(c.Name + " " + c.State)
			return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		})
	}
	v.Matching = len(v.Clients)
	if limit > 0 {
		v.Clients = v.Clients[:min(limit, len(v.Clients))]
	}
	return v
}

// minRunning is how many seconds a run must have gone on before its speed is computed.
const minRunning = 1e-3

// setRates sets the rates of a view and of its rows, which are in the order of the snapshot: over the time since the oldest sample.
func (m *Monitor) setRates(v *View, shot *server.Snapshot, at time.Time) {
	s := sample{at: at, paused: shot.Paused, now: shot.Now.Time, grants: shot.Grants, delivered: shot.Totals.Delivered}
	s.clients = make([]counters, len(shot.Clients))
	for i := range shot.Clients {
		c := &shot.Clients[i]
		s.clients[i] = counters{clock: c.Clock.Time, messages: c.Sent + c.Delivered, blocked: c.Blocked}
	}
	m.samples = append(m.samples, s)
	for len(m.samples) > 2 && at.Sub(m.samples[1].at) >= recent {
		m.samples = m.samples[1:]
	}
	old := &m.samples[0]
	wall := at.Sub(old.at).Seconds()
	if wall <= 0 {
		return
	}
	running := wall - (s.paused - old.paused).Seconds()
	factor := func(now, then metasim.Time) float64 {
		if running < minRunning || now == metasim.Forever {
			return 0
		}
		return (now - then).Seconds() / running
	}
	v.Factor, v.GrantsS, v.MessagesS = factor(s.now, old.now), float64(s.grants-old.grants)/wall, float64(s.delivered-old.delivered)/wall
	for i := range s.clients {
		row, now, then := &v.Clients[i], &s.clients[i], &old.clients[i]
		row.Factor = factor(now.clock, then.clock)
		row.MessagesS = float64(now.messages-then.messages) / wall
		row.Blocked = min(1, (now.blocked-then.blocked).Seconds()/wall)
	}
}
