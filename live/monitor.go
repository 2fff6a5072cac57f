package live

import (
	"slices"
	"sync"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// A Config is what a Monitor knows beside its server.
type Config struct {
	// Process tells of the process that a client lives in, as far as it is known. Nil: nothing is.
	Process func(client string) Process
	// Interval is how old what is shown may be. Zero: 250 ms. A run with so many clients that a look takes long is looked
	// at less often, down to every two seconds, so that at most a hundredth of the time is spent on it.
	Interval time.Duration
}

// A Monitor looks at a run for all who want to see it. It is safe for concurrent use.
type Monitor struct {
	server *server.Server
	config Config
	over   chan struct{} // closed by Close

	mu      sync.Mutex
	next    time.Time // when it looks again
	view    View
	samples []sample // the oldest first: what rates are computed from
	blame   []float64
	once    sync.Once
}

const (
	defaultInterval = 250 * time.Millisecond
	maxShare        = 100             // a look may take so many times less than what lies between two,
	maxInterval     = 2 * time.Second // which is no more than this
	lately          = 3 * time.Second // over which rates are computed
)

// NewMonitor returns a monitor of a run. It looks when it is asked, not before.
func NewMonitor(s *server.Server, c Config) *Monitor {
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	if c.Process == nil {
		c.Process = func(string) Process { return Process{} }
	}
	return &Monitor{server: s, config: c, over: make(chan struct{})}
}

// Close tells those who look on that the run is over; they are shown its end.
func (m *Monitor) Close() { m.once.Do(func() { close(m.over) }) }

// View returns what the run looked like a moment ago. What it holds is shared: it must not be changed.
func (m *Monitor) View() View {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); !now.Before(m.next) || m.ended() && m.view.State != "over" {
		shot := m.server.Snapshot()
		m.take(&shot, now)
		m.next = now.Add(max(m.config.Interval, min(maxShare*shot.Took, maxInterval)))
	}
	return m.view
}

func (m *Monitor) ended() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// take makes a view of a snapshot.
func (m *Monitor) take(shot *server.Snapshot, at time.Time) {
	rates := m.rates(shot, at)
	v := View{
		Scenario: shot.Scenario, Seed: shot.Seed, State: state(shot), WallS: (shot.Running - shot.Paused).Seconds(),
		Now: instant(shot.Now), End: within(shot.End), Factor: rates.factor, GrantsS: rates.grants, MessagesS: rates.messages,
		Sent: shot.Totals.Sent, Delivered: shot.Totals.Delivered, Dropped: shot.Totals.Dropped, Grants: shot.Grants,
		Count: len(shot.Clients), States: map[string]int{}, Clients: make([]Client, len(shot.Clients)),
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
		v.Clients[i] = m.row(shot, i, rates.clients)
		v.States[v.Clients[i].State]++
	}
	if slowest := m.slowest(shot); slowest >= 0 {
		v.Slowest = shot.Clients[slowest].Name
		v.Chain = m.chain(shot, slowest)
	}
	slices.SortFunc(v.Clients, blameFirst)
	v.Matching = v.Count
	m.view = v
}

func state(shot *server.Snapshot) string {
	switch {
	case shot.Over:
		return "over"
	case !shot.Started:
		return "joining"
	case shot.Halt.Paused && shot.Halt.Still:
		return "paused"
	case shot.Halt.Paused && !shot.Now.Before(shot.Halt.Limit):
		return "pausing"
	case slices.ContainsFunc(shot.Clients, func(c server.ClientSnapshot) bool { return c.State == server.Initializing }):
		return "initializing"
	}
	return "running"
}

// row is one client's.
func (m *Monitor) row(shot *server.Snapshot, i int, rates []rate) Client {
	c := &shot.Clients[i]
	row := Client{
		Name: c.Name, State: c.State.String(), SinceS: (shot.Wall - c.Since).Seconds(), Peer: c.Peer,
		PID: m.process(c).PID, At: instant(c.Clock), Safe: instant(metasim.Later(c.Safe, c.Granted)), Granted: instant(c.Granted),
		Queued: c.Queued, Given: c.Given, Sent: c.Sent, Delivered: c.Delivered, Grants: c.Grants,
		MessagesS: rates[i].messages, Blocked: rates[i].blocked, BusyS: c.Busy.Seconds(), BlockedS: c.Blocked.Seconds(),
		Blame: m.blame[i],
	}
	if c.State != server.Waiting {
		return row
	}
	row.Want = within(c.Want)
	if c.Held {
		row.Holder, row.Root = shot.Clients[c.Holder].Name, shot.Clients[c.Root].Name
	}
	return row
}

// slowest is the client to blame most for others waiting now, or -1.
func (m *Monitor) slowest(shot *server.Snapshot) int {
	slowest := -1
	for i := range shot.Clients {
		if c := &shot.Clients[i]; c.Held && c.State == server.Waiting {
			if root := int(c.Root); slowest < 0 || m.blame[root] > m.blame[slowest] {
				slowest = root
			}
		}
	}
	return slowest
}

// chain says why somebody waits for a client.
func (m *Monitor) chain(shot *server.Snapshot, root int) []string {
	id := metasim.ClientID(behind(shot, root))
	return m.sentences(shot, id, m.server.Blame(id))
}

// behind is, of those who wait for a client, the one that is furthest behind in simulated time; or -1.
func behind(shot *server.Snapshot, root int) int {
	least := -1
	for i := range shot.Clients {
		c := &shot.Clients[i]
		if c.Held && c.State == server.Waiting && int(c.Root) == root && (least < 0 || c.Clock.Before(shot.Clients[least].Clock)) {
			least = i
		}
	}
	return least
}
