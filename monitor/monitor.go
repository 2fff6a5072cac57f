package monitor

import (
	"net/http"
	"sync"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// A Monitor makes views of a run for all that ask. It is safe for concurrent use.
type Monitor struct {
	server    *server.Server
	more      map[string]http.Handler     // by prefix; see Serve
	processOf func(client string) Process // as far as it is known
	over      chan struct{}               // closed by Close
	once      sync.Once

	mu      sync.Mutex
	next    time.Time // when it takes a snapshot again
	view    View
	warned  []string     // the Warnings of a View
	samples []sample     // of earlier snapshots, the oldest first, for the rates
	past    past         // what is remembered for longer
	blame   []float64    // by client: how many clients waited for it recently
	ranks   []int        // by client, from its blame; see rank
	places  []int        // by client: its place in order of name
	slowest int          // the client that others wait for most; -1: none
	at      time.Time    // of the last snapshot
	paced   time.Time    // of the last one in which a client waited for the rate
	seen    processState // of the process that was looked at last
	seenPID int
}

const (
	recent = 3 * time.Second // the time over which rates are computed
	shown  = 0.05            // the least blame that is shown, with one digit after the point
	// A View may be as old as minInterval; with very many clients it may be older, up to maxInterval, so that at most one part in
	// maxShare of the time is spent on snapshots.
	minInterval = 250 * time.Millisecond
	maxInterval = 2 * time.Second
	maxShare    = 100
)

// A View is the state of a run: /status.json. Fields ending in _s are in seconds.
type View struct {
	Scenario string   `json:"scenario"`
	Pages    []string `json:"pages,omitempty"` // beside that of the run, as "/map/"
	Seed     uint64   `json:"seed"`
	// State is joining, initializing, running, pausing (some clients have not stopped yet), paused or over.
	State string `json:"state"`
	Error string `json:"error,omitempty"` // why the run failed

	WallS   float64  `json:"wall_s"`             // since all have joined, without pauses
	Now     Instant  `json:"now"`                // everything before it has happened
	End     *Instant `json:"end,omitempty"`      // of the run; absent: when all clients have left
	PauseAt *Instant `json:"pause_at,omitempty"` // where it is paused or will be
	Next    *Instant `json:"next,omitempty"`     // when something happens next, in a run that is stopped

	EtaS *float64 `json:"eta_s,omitempty"` // until its end, in real time without pauses; absent: not known

	// Over the last three seconds in which the run went on; at first, since its start:
	Factor    float64 `json:"factor"` // simulated seconds per second
	GrantsS   float64 `json:"grants_per_s"`
	MessagesS float64 `json:"messages_per_s"` // delivered

	Sent      uint64 `json:"sent"`
	Delivered uint64 `json:"delivered"`
	Dropped   uint64 `json:"dropped"`
	Grants    uint64 `json:"grants"`

	DiskS float64 `json:"disk_s,omitempty"` // for how long the run has waited for the disk of its journal

	Count    int            `json:"count"`    // clients
	Matching int            `json:"matching"` // clients that match the filter
	States   map[string]int `json:"states"`   // how many clients are in each state
	Clients  []Client       `json:"clients"`  // the one that most others wait for first

	// Slowest is the client that others waited for most; empty: none. Chain says why a client waits for it, one sentence a hop; or
	// what else the run waits for.
	Slowest string   `json:"slowest,omitempty"`
	Chain   []string `json:"chain,omitempty"`
	// History says who held up others before, without pauses, the oldest first.
	History []Past `json:"history,omitempty"`
	// Warnings say what is probably not meant in the scenario, and does not keep the run from going on.
	Warnings []string `json:"warnings,omitempty"`
}

// A Client is one row of a View.
type Client struct {
	Name   string  `json:"name"`
	Count  int     `json:"count,omitempty"` // of a group: how many clients it has
	Mix    string  `json:"mix,omitempty"`   // of a group: what they do; State is what most do
	State  string  `json:"state"`           // absent, initializing, computing, waiting, nested (it sends nothing more out of a nested run), left or lost
	SinceS float64 `json:"since_s"`
	Peer   string  `json:"peer,omitempty"`
	Host   string  `json:"host,omitempty"`         // where its process runs, if metasim has started it elsewhere
	TripS  float64 `json:"round_trip_s,omitempty"` // the least time in which that host has answered metasim; 0: not known
	PID    int     `json:"pid,omitempty"`

	At      Instant  `json:"at"` // its last activity that it has reported
	Want    *Instant `json:"want,omitempty"`
	Safe    Instant  `json:"safe"`
	Granted Instant  `json:"granted"`

	Queued    int    `json:"queued"`
	Given     int    `json:"given"` // deliveries that it has not acknowledged
	Sent      uint64 `json:"sent"`
	Delivered uint64 `json:"delivered"`
	Grants    uint64 `json:"grants"`

	MessagesS float64 `json:"messages_per_s"` // sent and delivered, recently
	Factor    float64 `json:"factor"`         // its simulated seconds per second, recently
	Blocked   float64 `json:"blocked"`        // share of the recent time: 0 to 1
	BusyS     float64 `json:"busy_s"`
	BlockedS  float64 `json:"blocked_s"`
	MemoryS   float64 `json:"memory_s"`             // of BlockedS: the client waited for memory
	Short     bool    `json:"short,omitempty"`      // it waits for memory now
	Restarts  int     `json:"restarts,omitempty"`   // how often its process was replaced
	CatchesUp bool    `json:"catches_up,omitempty"` // its process was replaced, and has not come yet to where the old one was

	Holder string  `json:"holder,omitempty"` // the client whose message it may have to wait for
	Root   string  `json:"root,omitempty"`   // the client at the end of that chain, which waits for no client of this run
	Halted string  `json:"halted,omitempty"` // what it waits for if not a client: the run is "paused", or ahead of its "pace", or the run around it gives it "credit"
	Blame  float64 `json:"blame"`            // how many clients waited for it recently, on average
	HeldS  float64 `json:"held_s"`           // for how long clients have waited for it, summed over them

	rank, place int // the order of rows: by blame, then by name
}

// A Past is a part of a run's real time, in WallS.
type Past struct {
	FromS   float64  `json:"from_s"`
	ToS     float64  `json:"to_s"`
	Holders []Holder `json:"holders"` // who held up others most, at most five
}

// A Holder is a client that others waited for.
type Holder struct {
	Name  string  `json:"name"`
	Blame float64 `json:"blame"` // how many clients waited for it, on average
}

// An Instant is an instant in JSON.
type Instant struct {
	Text    string  `json:"text"`
	Seconds float64 `json:"s"` // of Forever: 9.2e9
	Step    uint32  `json:"step,omitempty"`
}

// An answer is the JSON object that a question or a command returns.
type answer struct {
	Why   string   `json:"why,omitempty"`
	Chain []string `json:"chain,omitempty"` // the same, one sentence a hop
	Done  string   `json:"done,omitempty"`
	Error string   `json:"error,omitempty"`
}

// A Process is the process of a client.
type Process struct {
	PID     int  // 0: not known
	Inside  bool // the client is a model in the server's process
	Outside bool // metasim does not start it
	// Nested is the nested run that it is in, whose own dispatcher knows what it does there; empty: none.
	Nested string
	// Host is where it runs; empty: on this host, or nobody knows. RoundTrip is the least time in which that host has answered; 0: not known.
	Host      string
	RoundTrip time.Duration
	// Said returns the last line of its output as plain text; empty: none. Nil where metasim did not start it.
	Said func() string
}

// A condition says what a process does.
type condition uint8

const (
	unknown condition = iota // the system does not tell
	runs                     // it computes, or would if it had a processor
	sleeps                   // all of its threads wait in the kernel: for a timer, a message, a lock
	stuck                    // in the kernel, where no signal reaches it: for a disk or a network file system
	stopped                  // by a signal such as SIGSTOP
	traced                   // by a debugger
	hasEnded
)

// A processState is a process at one moment, as far as the system tells.
type processState struct {
	at        time.Time
	condition condition
	cpu       time.Duration // so far
	cores     float64       // how many it used since it was examined before; negative: not known
	in        string        // what its threads wait for, in words; empty: not known
	tracer    string        // the debugger that holds it, in words; empty: not known
}

// An examiner says what the process of a client does. It is asked after the client has been silent for a time.
type examiner struct {
	state func(pid int) processState
	after time.Duration
}

// A sample has what rates need of a snapshot.
type sample struct {
	wall      time.Duration // since the run started
	running   time.Duration // of that, without pauses
	reached   metasim.Time
	grants    uint64
	delivered uint64
	clients   []counters
}

type counters struct {
	clock    metasim.Time
	messages uint64
	blocked  time.Duration
	held     time.Duration
}

// A past is what a monitor remembers for the History and the EtaS of its views.
type past struct {
	marks []mark
	parts []Past
	held  []time.Duration // by client, at the last mark
}

// A mark says how far a run had come.
type mark struct {
	running time.Duration
	reached metasim.Time
}

// Access says who can reach a listener, and what they may do.
type Access uint8

const (
	// Private: a unix socket that only this user can connect to. No token is needed.
	Private Access = iota
	// Loopback: an address of this host, which every user of the host can reach and, through a browser, every page that it shows.
	// Everybody on this host may read; a command needs the token.
	Loopback
	// Outside: any other address, over TLS. Everything but the login needs the token, as the password or as it is.
	Outside
)
