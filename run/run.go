// Package run carries out a scenario: it serves the scenario, starts its clients (built-in models in this process or in
// processes of their own, commands as processes), records the run in a directory, and returns the outcome.
//
// This package uses real time and starts processes. Neither can change the result of a run.
package run

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"metasim/client"
	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/record/journal"
	"metasim/run/launch"
	"metasim/run/placement"
	"metasim/run/supervisor"
	"metasim/scenarios"
	"metasim/scenarios/flow"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/secure"
)

// Transports are the ways in which clients reach the server.
var Transports = append([]string{"mem"}, all.Table().Schemes()...)

// Options say how to carry out a scenario. None of them can change its digest.
type Options struct {
	// Transport is mem (the default), unix, tcp, tls, quic or shm. With mem the built-in models run in this process, and commands
	// get a unix socket; with the others every client is a process of its own. Where the system has no shared memory (only
	// Linux has what shm needs), shm becomes unix, with a warning.
	Transport string
	// Inside names clients whose built-in models run in this process, whatever the transport: they need no process, and reach the server by
	// a function call.
	Inside []string
	// Idle names clients that have a process only while they are given something, of those whose process may be started again: built-in models. With mem, with other
	// hosts, and where processes are started elsewhere or are shared, it has no effect.
	Idle []string
	// Launch is how processes are started: local, which is the default, ssh: on Hosts, or slurm: on Nodes hosts of a cluster, or on Hosts of it. Each host has
	// a supervisor and a relay. Then Transport is quic (the default) or tls, and Listen is where these hosts reach this one. Empty: any free port.
	Launch string
	Hosts  []string
	// PlacementFrom is the directory of an earlier run: clients that said much to one another there share a host, where the scenario does not say which. Empty:
	// those that follow one another in the scenario do.
	PlacementFrom string
	// Nodes is how many hosts slurm is asked for. Zero: all of the job in which this process runs, or as many as Slurm gives.
	Nodes int
	// LaunchOptions are more words for salloc, which asks for these hosts; or, in a job, for srun.
	LaunchOptions []string
	// Remote is what this program is called on other hosts. Empty: metasim; with slurm, where this program is here.
	Remote string
	// Listen is the address at which clients from outside of this process join: a path for unix and shm, host:port for tcp, tls
	// and quic. Empty: a private temporary socket, or a free port of the loopback interface.
	Listen string
	// Insecure lets tcp listen where other hosts reach it. Without it such a listener is one of tls.
	Insecure bool
	// Certificate is what tls and quic show; nothing: one that is made for the run. With an authority (CA) clients have to show a certificate too.
	Certificate secure.Files
	// Serve starts no client: all of them join from outside.
	Serve bool
	// Token is what clients must show to join. Empty: a random token for tcp and quic and for the processes started here.
	Token string
	// Tokens is a file to be written: a line for each client that is started elsewhere, with its name and a join token, which is good for this name
	// and one join. Empty: they use Token; but where other hosts reach the listener and Token is empty, it is a file in the run directory.
	// It is removed at the end of the run.
	Tokens string
	// Out is the run directory. Empty: runs/<name>-<n> below the working directory.
	Out string
	// Self is the command that starts this program as `metasim`. The arguments "client --instance ..." are added to it for a
	// built-in model in a process of its own, and "supervise" for the supervisor of the processes of a run: see supervisor.Serve. Every
	// transport but mem needs it, and so does every command.
	Self []string
	// AllowOutside lets models that are processes of their own read files outside of the scenario's directory.
	AllowOutside bool
	// Patience is how long, in wall-clock time, a process may go on after its client has left, before it is ended. Zero:
	// 10 s.
	Patience time.Duration
	// Pack is how many built-in models that follow one another in the scenario may share a process and a connection. Zero: each client has its own.
	Pack int
	// Nested has each scenario inside of the scenario carried out by a dispatcher of its own: see ADR 38. One that is inside of such a one shares its.
	Nested bool
	// Apart has each of these dispatchers in a process of its own, with what Transport has in this process; with other hosts it is so anyway. Then a
	// scenario inside is on one host, as a client is.
	Apart bool
	// NoTrace does not ask clients how long they compute, which makes each of them read the clock. A report on the run then
	// uses the time between what the server receives.
	NoTrace bool
	// Command is what was typed to start the run, for its manifest: without secrets.
	Command []string
	// Env is added to the environment of the processes that are started.
	Env []string
	// NoJournal leaves the journal out: the run directory has a manifest, with the outcome and the digest, and the output of
	// the processes.
	NoJournal bool
	// Durable has the journal reach the disk before its effects leave this process, where it otherwise follows every 50 ms, and whenever the
	// system thinks fit.
	Durable bool
	// KeepEnv records the values of the env of commands, which may be secrets. If it is false, the manifest has only the names, and a
	// replay takes the values from its own environment.
	KeepEnv bool
	// Private does not show the run on the public LCM network that the scenario names.
	Private bool
	// Warn is called once all clients have joined, with what they declared in vain: a subscription that no client publishes, a channel
	// that no client subscribes to. It leaves out what Load has warned of. May be nil; may be called on another goroutine.
	Warn func(text string)
	// Strict ends the run because of such a warning.
	Strict bool
	// Ready is called when clients can join from outside, with the address and the token they need, or with the file that has a token for
	// each of them. May be nil.
	Ready func(url, token, tokens string) error
	// ReadyInside is called likewise with the name of a nested run that has clients from outside: they join at an address of its own. May be nil.
	ReadyInside func(name, url, token, tokens string) error
	// Watch is called with the server when it begins to serve, to show its progress. May be nil.
	Watch func(*server.Server)
	// Live says how the run can be watched while it goes on. Nil: not at all.
	Live *Live
	// Log gets warnings. Nil: they are discarded.
	Log *slog.Logger
}

// Live says how a run can be watched and controlled while it goes on. There is always a private socket; the run directory
// names it.
type Live struct {
	// HTTP is an address to serve a page at: host:port, or :port for this host alone. Empty: no page.
	HTTP string
	// Outside lets HTTP be an address that other hosts reach, over TLS. They log in with the token as the password.
	Outside bool
	// Token is what commands over HTTP must show. Empty: a random one.
	Token string
	// Pages are served beside the page, by prefix, as "/wall/": who may see the run may read there, and who may command it may post.
	Pages map[string]http.Handler
	// Shown is called with the address of the page: with the token on this host, and with where the password is for others. May be nil.
	Shown func(url string)
	// Stall is the wall-clock time without input from any client after which Say is called with the reason; 0: never. Say
	// may be called on another goroutine.
	Stall time.Duration
	Say   func(text string)
	// Show is called on a goroutine of its own. It shows the run until the monitor ends. May be nil.
	Show func(m *monitor.Monitor)
}

// An Outcome is the result of a run: what `metasim run --json` prints.
type Outcome struct {
	Scenario        string   `json:"scenario"`
	Seed            uint64   `json:"seed"`
	OK              bool     `json:"ok"`
	Error           string   `json:"error"`
	Deterministic   bool     `json:"deterministic"`
	journal.Digests          // of what happened, even if the run failed
	EndNS           int64    `json:"end_ns"` // the latest activity of any client
	WallS           float64  `json:"wall_s"`
	RunDir          string   `json:"run_dir"`
	Messages        Messages `json:"messages"`
	wire.Traffic
	Wakeups uint64  `json:"wakeups"`  // rounds of the server that had input; see server.Result
	RoundsS float64 `json:"rounds_s"` // how long they took: dispatching and writing
	// HeldBytes is the most memory that unhandled messages took at any time, and MemoryBytes is the bound on it; 0: no bound. Messages
	// that had to be on their way at the same time may have taken more than the bound. Of several dispatchers, each of which has the bound, it
	// is the one that held most.
	HeldBytes   int         `json:"held_bytes"`
	MemoryBytes int         `json:"memory_bytes"`
	DiskS       float64     `json:"disk_s,omitempty"` // for how long the run waited for the disk of its journal
	Live        []string    `json:"live,omitempty"`   // clients that took part in real time: a repetition may give another digest
	LCM         *LCMOutcome `json:"lcm,omitempty"`
	// Warnings say what is probably not meant.
	Warnings []Warning       `json:"warnings,omitempty"`
	Clients  []ClientOutcome `json:"clients"` // in order of name
	// Nested are the directories of the runs that were nested in this one: see Options.Nested.
	Nested []string `json:"nested,omitempty"`
	// Hosts are those on which clients were started, in the order of Options.Hosts: this one, if no launcher has started them on others.
	Hosts []HostOutcome `json:"hosts,omitempty"`

	// Resumable says that Resume goes on with the run: it did not fail by itself, but was stopped by a signal, or its hosts were taken away, or it was resumed and failed before anything new happened.
	Resumable bool `json:"resumable,omitempty"`

	Err error `json:"-"` // the cause of Error

	placed []journal.Placed // of the other hosts
}

// saturatedLink is the kind of a Warning about a link that got more than it can carry. It is known at the end of a run only.
const saturatedLink = "saturated-link"

// slowDisk is the kind of a Warning about a disk that kept the run from going on.
const slowDisk = "slow-disk"

// A Warning says in a sentence what is probably not meant in a run that may well be good. Kind is unused-subscription,
// unheard-channel, slow-disk or saturated-link.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Messages counts (message, recipient) pairs, except Sent, which counts publishes.
type Messages struct {
	Sent        uint64 `json:"sent"`
	Delivered   uint64 `json:"delivered"`
	Dropped     uint64 `json:"dropped"`
	Undelivered uint64 `json:"undelivered"`
}

// A ClientOutcome is the result of one client.
type ClientOutcome struct {
	Name          string          `json:"name"`
	Digest        string          `json:"digest"`
	SendsDigest   string          `json:"sends_digest"` // 16 hex digits: see docs/design.md, 4.2
	Sent          uint64          `json:"sent"`
	Delivered     uint64          `json:"delivered"`
	EndNS         int64           `json:"end_ns"` // its last activity
	EndStep       uint32          `json:"end_step"`
	Grants        uint64          `json:"grants"` // depends on real time
	BusyS         float64         `json:"busy_s"`
	BlockedS      float64         `json:"blocked_s"`
	MemoryS       float64         `json:"memory_s"`              // of blocked_s, for which it waited for memory
	HeldS         float64         `json:"-"`                     // for how long others waited for it: a sweep keeps it
	Restarts      int             `json:"restarts"`              // how often its process was replaced: on_exit: restart
	Checkpoints   int             `json:"checkpoints,omitempty"` // that were kept of it
	Exit          string          `json:"exit"`                  // left, detached, lost, aborted (the run failed) or absent (never joined)
	Result        json.RawMessage `json:"result"`
	*wire.Traffic                 // of its connection; left out if the client shares it, or never joined
}

// An LCMOutcome says how much of a run was shown on its public LCM network. It depends on real time.
type LCMOutcome struct {
	URL     string `json:"url"`
	Shown   uint64 `json:"shown"`   // messages sent or delivered, each with a companion
	Dropped uint64 `json:"dropped"` // messages for which there was no time
	Refused uint64 `json:"refused"` // messages whose names LCM cannot express
	// These say what happened to what was shown; they count messages and companions.
	Sent    uint64 `json:"sent"`
	Unheard uint64 `json:"unheard,omitempty"` // of sent, those that no program subscribed to, where that is known: on tcpq
	Failed  uint64 `json:"failed"`            // the network did not accept them
	Unread  uint64 `json:"unread"`            // a program that listens over tcpq was too slow; counted for each such program
	Skipped uint64 `json:"skipped"`           // a log has no empty payloads
	// Overflow counts the datagrams that programs of this host which listen lost, because their receive buffers were full.
	// Remedy says what helps.
	Overflow uint64 `json:"overflow,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// A rest is the journal of a run that goes on.
type rest struct {
	journal.Matcher
	left   map[metasim.ClientID]bool
	reader *journal.Reader
	writer *journal.Writer
	dir    journal.Dir
	stop   func() error           // why it is to be read no further; nil: it goes on
	forget func(size int64) error // removes checkpoints that a journal of this size lacks
	goneOn bool                   // a client has said something that the journal did not have
}

// A PlacementError says what is wrong with where clients are to go: a scenario or a flag, and no host. Then there is no run.
type PlacementError struct{ Err error }

func (e *PlacementError) Error() string { return e.Err.Error() }
func (e *PlacementError) Unwrap() error { return e.Err }

// Doors are how clients from outside reach a run. Those that outlive its server wait for the same doors to open again: see Resume.
type doors struct {
	Listen      string            `json:"listen"` // as Options.Listen, with the port that it got
	Token       string            `json:"token"`
	Tokens      map[string]string `json:"tokens,omitempty"`
	TokensFile  string            `json:"tokens_file,omitempty"`
	Insecure    bool              `json:"insecure,omitempty"`
	Certificate secure.Files      `json:"certificate"`
	Made        []byte            `json:"made,omitempty"` // the certificate that was made for the run, with its key
}

// listeners are what clients join through: from inside of this process, from outside, or both.
type listeners struct {
	inside  *mem.Net            // nil if no client runs in this process
	outside *transport.Listener // nil if no client joins from outside
	token   string
	started string // the join token of what the run starts on other hosts: another one in each life of the run, so that what is left there of an earlier one is not let in
	proxies string // the join token of the proxies of clients of other runs, which a gateway knows
	bound   boundTokens
	made    []byte // the certificate that was made for the run, if one was
	doors   string // the file in which they are written down; empty: none
}

// A plan is what is known of the places of clients before there are hosts.
type plan struct {
	groups  []group
	of      map[string]int // the number of the group of each client that may have a place
	traffic placement.Traffic
}

// boundTokens are the join tokens of clients that are started elsewhere, one for each, and the file that tells them.
type boundTokens struct {
	byName map[string]string // nil: they use the token for all
	file   string
}

// A HostOutcome says what became of a host.
type HostOutcome struct {
	Name    string   `json:"name"`
	Clients []string `json:"clients"` // in the order in which they were started
	Exit    string   `json:"exit"`    // ended, or why it was lost
}

// clients starts the clients of one run, knows where each of them runs, and ends their processes.
type clients struct {
	scenario  *scenarios.Scenario
	options   *Options
	dir       journal.Dir
	listeners *listeners
	scheduler *client.Scheduler // of the models in this process
	server    *server.Server    // set before start is called
	host      *client.Host      // the connection of all models in this process; nil before the first
	inside    sync.WaitGroup    // these models
	hosts     []*host           // of the processes; empty before the first, where that is this host
	opening   sync.Mutex        // of hosts
	planned   *plan             // of places on other hosts; nil: it is made when they are needed
	launcher  launch.Launcher   // of other hosts; nil: there are none, or they are not open yet
	ended     string            // what the launcher says of the end of the hosts, of a run that has failed
	taken     bool              // and whether it has taken them away, or was about to
	noticed   atomic.Bool       // a host has told that it is about to be taken away
	placement map[string]*host  // by name, of those clients that are started on other hosts; nil: these are not ready
	restarts  sync.WaitGroup    // of processes
	resumed   int               // how often the run was cut off
	cells     *hostedCells      // nested runs in processes of their own; nil: there are none
	around    map[string]string // the nested run that each client inside is in

	mu        sync.Mutex
	places    map[string]place // by name
	processes []*process       // that are to end with the run: in the order of the scenario, then those that were started again
}

// A place says where a client runs: one of the first three fields is set.
type place struct {
	inside  bool     // in this process
	process *process // in a process that the run has started
	outside bool     // the client is started elsewhere
	lodger  *lodger  // in this process for a while
}

// A lodger is a client of Options.Idle while it is in this process.
type lodger struct {
	stop func()        // ends what it does here
	done chan struct{} // it has ended
}

// A host is where processes of a run are started. On another host than this one a relay joins its clients to the server, over one connection.
type host struct {
	name       string // empty: this one
	supervisor *supervisor.Supervisor
	server     string // the address at which its clients join

	mu      sync.Mutex
	relay   *process        // the last one
	relays  int             // how many there have been
	clients map[string]bool // that were on it
}

// A part is what makes the runner of a scenario one of several.
type part struct {
	proxies []string // clients of other runs that have a name in this one, in order
	groups  [][]string
	outside []string
	cells   *hostedCells // runs that are nested in this one, in processes of their own; nil: there are none
	scopes  scope.Set    // of its own clients; those of other runs are called by their full names
	watch   server.Observer
	settled func(*metasim.Dispatcher)
	// declared is what the clients of all runs have declared, once they have joined. In a nested run it is nil.
	declared func() []flow.Declaration
}
