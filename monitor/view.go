package monitor

import (
	"cmp"
	"slices"
	"strings"

	"metasim/metasim"
)

// A View is what a run looks like: /status.json. Times ending in _s are seconds, for people and plots.
type View struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// State is joining, initializing, running, pausing (some are still on their way to where they must wait), paused or over.
	State string `json:"state"`
	Error string `json:"error,omitempty"` // why the run failed

	WallS   float64  `json:"wall_s"`             // since all have joined; pauses do not count
	Now     Instant  `json:"now"`                // nothing is left to happen before it
	End     *Instant `json:"end,omitempty"`      // the run ends there; absent: when all have left
	PauseAt *Instant `json:"pause_at,omitempty"` // where it is to be paused, or is
	Next    *Instant `json:"next,omitempty"`     // what happens next in a run that stands still

	// Lately: over the last seconds, as far as it was looked at.
	Factor    float64 `json:"factor"` // simulated seconds in a second
	GrantsS   float64 `json:"grants_per_s"`
	MessagesS float64 `json:"messages_per_s"` // delivered

	Sent      uint64 `json:"sent"`
	Delivered uint64 `json:"delivered"`
	Dropped   uint64 `json:"dropped"`
	Grants    uint64 `json:"grants"`

	Count    int            `json:"count"`    // clients that there are
	Matching int            `json:"matching"` // of these, as the filter wants them
	States   map[string]int `json:"states"`   // how many are in which state
	Clients  []Client       `json:"clients"`  // the most blamed first

	// Slowest is who is to blame most, lately; empty: nobody. Chain is why somebody waits for it, one sentence a hop; or
	// what else keeps the run from going on.
	Slowest string   `json:"slowest,omitempty"`
	Chain   []string `json:"chain,omitempty"`
}

// A Client is one row of a View.
type Client struct {
	Name   string  `json:"name"`
	State  string  `json:"state"` // absent, initializing, computing, waiting, left or lost
	SinceS float64 `json:"since_s"`
	Peer   string  `json:"peer,omitempty"`
	PID    int     `json:"pid,omitempty"`

	At      Instant  `json:"at"` // its last activity, as far as it said
	Want    *Instant `json:"want,omitempty"`
	Safe    Instant  `json:"safe"`
	Granted Instant  `json:"granted"`

	Queued    int    `json:"queued"`
	Given     int    `json:"given"` // deliveries that it has not said it handled
	Sent      uint64 `json:"sent"`
	Delivered uint64 `json:"delivered"`
	Grants    uint64 `json:"grants"`

	MessagesS float64 `json:"messages_per_s"` // sent and delivered, lately
	Factor    float64 `json:"factor"`         // its simulated seconds in a second, lately
	Blocked   float64 `json:"blocked"`        // share of the time, lately: 0 to 1
	BusyS     float64 `json:"busy_s"`
	BlockedS  float64 `json:"blocked_s"`

	Holder string  `json:"holder,omitempty"` // whose message it may have to wait for
	Root   string  `json:"root,omitempty"`   // whom all on that way wait for
	Halted string  `json:"halted,omitempty"` // it waits for nobody: the run is "paused", or ahead of its "pace"
	Blame  float64 `json:"blame"`            // how many wait for it, lately, on average

	rank, place int // of its blame, and of its name: the order of rows
}

// An Instant is an instant in JSON.
type Instant struct {
	Text    string  `json:"text"`
	Seconds float64 `json:"s"` // of Forever: 9.2e9
	Step    uint32  `json:"step,omitempty"`
}

func instant(i metasim.Instant) Instant {
	return Instant{Text: i.String(), Seconds: i.Time.Seconds(), Step: i.Step}
}

// within returns nil for an instant that is never reached.
func within(i metasim.Instant) *Instant {
	if i == metasim.Infinity {
		return nil
	}
	at := instant(i)
	return &at
}

// blameFirst is the order of the rows: the most blamed, then the others by name, and those who have gone at the end.
func blameFirst(a, b Client) int {
	return cmp.Or(cmp.Compare(gone(a), gone(b)), cmp.Compare(b.rank, a.rank), cmp.Compare(a.place, b.place))
}

// gone is 1 for a client that has gone, and 0 for others.
func gone(c Client) int {
	if c.State == "left" || c.State == "lost" {
		return 1
	}
	return 0
}

// Page returns the view with the first rows only, of those whose name or state has the words of a filter in it. A limit
// of 0 is none.
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
