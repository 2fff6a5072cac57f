package monitor

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
	// Words writes an error for a person. Nil: as it is.
	Words func(err error) string
}

// A Monitor looks at a run for all who want to see it. It is safe for concurrent use.
type Monitor struct {
	server *server.Server
	config Config
	over   chan struct{} // closed by Close

	mu      sync.Mutex
	next    time.Time // when it looks again
	view    View
	samples []sample  // the oldest first: what rates are computed from
	blame   []float64 // of each client: how many wait for it, lately
	ranks   []int     // of each client, by its blame; see rank
	places  []int     // of each client among all in order of name, as people count
	slowest int       // whom the last look found to hold up most; -1: nobody
	paced   time.Time // when somebody was last seen to wait for the pace
	seen    glimpse   // of the process of who holds up others, by the last look
	seenPID int
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
	if c.Words == nil {
		c.Words = error.Error
	}
	return &Monitor{server: s, config: c, over: make(chan struct{}), slowest: -1}
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
		v.Error = m.config.Words(shot.Err)
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
	v.Slowest, v.Chain = m.story(shot)
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
	case stops(shot) && shot.Halt.Still:
		return "paused"
	case stops(shot):
		return "pausing"
	case slices.ContainsFunc(shot.Clients, func(c server.ClientSnapshot) bool { return c.State == server.Initializing }):
		return "initializing"
	}
	return "running"
}

// stops reports whether a run has come to where it was to be paused: somebody may still be on the way there.
func stops(shot *server.Snapshot) bool {
	h := &shot.Halt
	return h.Paused && !h.Driver && (h.Still || !shot.Now.Before(h.Limit))
}

// row is one client's.
func (m *Monitor) row(shot *server.Snapshot, i int, rates []rate) Client {
	c := &shot.Clients[i]
	row := Client{
		place: m.places[i], rank: m.ranks[i],
		Name: c.Name, State: c.State.String(), SinceS: (shot.Wall - c.Since).Seconds(), Peer: c.Peer,
		PID: m.process(c).PID, At: instant(c.Clock), Safe: instant(metasim.Later(c.Safe, c.Granted)), Granted: instant(c.Granted),
		Queued: c.Queued, Given: c.Given, Sent: c.Sent, Delivered: c.Delivered, Grants: c.Grants,
		MessagesS: rates[i].messages, Factor: rates[i].factor, Blocked: rates[i].blocked, BusyS: c.Busy.Seconds(), BlockedS: c.Blocked.Seconds(),
		Blame: m.blame[i],
	}
	if c.State == server.Absent {
		row.rank = 1 // it is for it that the others wait
	}
	if c.State != server.Waiting {
		return row
	}
	row.Want = within(c.Want)
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
