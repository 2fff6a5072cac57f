package monitor

import (
	"cmp"
	"maps"
	"slices"
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
	m.measure(shot)
	m.updateBlame(shot, at)
	v := View{
		Scenario: shot.Scenario, Pages: slices.Sorted(maps.Keys(m.more)), Seed: shot.Seed, State: state(shot), WallS: (shot.Running - shot.Paused).Seconds(),
		Now: instant(shot.Now), End: within(shot.End),
		Sent: shot.Totals.Sent, Delivered: shot.Totals.Delivered, Dropped: shot.Totals.Dropped, Grants: shot.Grants,
		DiskS: shot.Record.Total.Seconds(), Warnings: m.warned, Count: len(shot.Clients), States: map[string]int{}, Clients: make([]Client, len(shot.Clients)),
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
	m.setRates(&v)
	m.remember(&v, shot)
	v.Slowest, v.Chain = m.explain(shot)
	slices.SortFunc(v.Clients, blameFirst)
	v.Matching = v.Count
	m.view = v
}

// row makes the row of a client.
func (m *Monitor) row(shot *server.Snapshot, i int) Client {
	c := &shot.Clients[i]
	p := m.process(c)
	row := Client{
		place: m.places[i], rank: m.ranks[i],
		Name: c.Name, State: does(shot, c, p), SinceS: (shot.Wall - c.Since).Seconds(), Peer: c.Peer,
		PID: p.PID, Host: p.Host, TripS: p.RoundTrip.Seconds(), At: instant(c.Clock), Safe: instant(metasim.Later(c.Safe, c.Granted)), Granted: instant(c.Granted),
		Queued: c.Queued, Given: c.Given, Sent: c.Sent, Delivered: c.Delivered, Grants: c.Grants,
		BusyS: c.Busy.Seconds(), BlockedS: c.Blocked.Seconds(), MemoryS: c.Starved.Seconds(), HeldS: c.HeldOthers.Seconds(), Blame: m.blame[i],
		Restarts: c.Restarts, CatchesUp: c.CatchesUp,
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
	case c.Halted == metasim.NoCredit:
		row.Halted = "credit"
	case c.Halted != 0 && shot.Halt.Paused && !shot.Halt.Driver:
		row.Halted = "paused"
	case c.Halted != 0:
		row.Halted = "pace"
	}
	return row
}

// does returns the state of a client as the view shows it. A client inside of a nested run leaves the outer run as soon as it sends nothing more out of the nested one.
// The outer run does not know what it does after that, so the view does not say that it has left.
func does(shot *server.Snapshot, c *server.ClientSnapshot, p Process) string {
	if c.State == server.Left && p.Nested != "" && state(shot) != "over" {
		return "nested"
	}
	return c.State.String()
}

// blameFirst is the order of the rows: by blame, then by name; clients that have left, are nested or were lost come last.
func blameFirst(a, b Client) int {
	return cmp.Or(cmp.Compare(departed(a), departed(b)), cmp.Compare(b.rank, a.rank), cmp.Compare(a.place, b.place))
}

// departed is 1 for a client for which no other one waits any more, else 0.
func departed(c Client) int {
	if c.State == "left" || c.State == "nested" || c.State == "lost" {
		return 1
	}
	return 0
}
