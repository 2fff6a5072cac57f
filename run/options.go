package run

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"metasim/scenarios"
	"metasim/server"
)

// Transports are the ways in which clients reach the server.
var Transports = []string{"mem", "unix", "tcp", "quic", "shm"}

// Options say how to carry out a scenario. None of them can change its digest.
type Options struct {
	// Transport is mem (the default), unix, tcp, quic or shm. With mem the built-in models run in this process, and commands
	// get a unix socket; with the others every client is a process of its own. Where the system has no shared memory as shm
	// needs it (it needs Linux), shm is unix, with a warning.
	Transport string
	// Listen is where to listen for those who come from outside: a path for unix, host:port for tcp and quic. Empty: a
	// private temporary socket, or a free port of the loopback interface.
	Listen string
	// Serve starts no client at all: everybody comes from outside.
	Serve bool
	// Token is what clients must show. Empty: a random one for tcp and quic and for the processes started here.
	Token string
	// Out is the run directory. Empty: runs/<name>-<n> below the working directory.
	Out string
	// Self is the command that starts this program as `metasim`: to it "client MODEL ..." is added for a built-in model
	// in a process of its own. It is needed with every transport but mem.
	Self []string
	// AllowOutside lets models that are processes of their own read files outside of the scenario's directory.
	AllowOutside bool
	// Patience is how long, in wall-clock time, a process may go on after its client has left, before it is ended. Zero:
	// 10 s.
	Patience time.Duration
	// Pack is how many clients of one entry of the scenario, built-in models with a count, may share a process and a
	// connection. Zero: each has its own.
	Pack int
	// NoTrace does not ask clients how long they compute, which costs each of them a look at the clock: a report on the run
	// then takes the time between what the server hears.
	NoTrace bool
	// Env is added to the environment of the processes that are started.
	Env []string
	// NoJournal leaves the journal out: the run directory has a manifest, with the outcome and the digest, and the output of
	// the processes.
	NoJournal bool
	// Private keeps the run off the public LCM network that the scenario names.
	Private bool
	// Ready is called when clients can join from outside, with the address and the token to give them. May be nil.
	Ready func(url, token string) error
	// Watch is called with the server as the run begins to be served, to show its progress. May be nil.
	Watch func(*server.Server)
	// Live says how the run can be watched while it goes on. Nil: not at all.
	Live *Live
	// Log gets warnings. Nil: nowhere.
	Log *slog.Logger
}

// Outside reports whether clients of this scenario come from outside of this process, so that there is an address.
func (o *Options) Outside(sc *scenarios.Scenario) bool {
	return slices.ContainsFunc(sc.Clients, func(c scenarios.Client) bool { return !o.inside(c) })
}

// inside reports whether a client lives in this process.
func (o *Options) inside(c scenarios.Client) bool {
	return c.Model != "" && (o.Transport == "" || o.Transport == Transports[0]) && !o.Serve
}

// Validate names the first contradiction, and fills in the defaults.
func (o *Options) Validate() error {
	if o.Transport == "" {
		o.Transport = Transports[0]
	}
	if !slices.Contains(Transports, o.Transport) {
		return fmt.Errorf("there is no transport %q; use one of %s", o.Transport, strings.Join(Transports, ", "))
	}
	if o.Pack < 0 {
		return fmt.Errorf("%d clients cannot share a process; use a positive number, or 0 for a process each", o.Pack)
	}
	if o.Transport != "mem" && !o.Serve && len(o.Self) == 0 {
		return fmt.Errorf("transport %s puts models in processes of their own, but Options.Self does not say how to start them", o.Transport)
	}
	if o.Patience < 0 {
		return fmt.Errorf("the patience with processes is %v; use a positive duration, or 0 for %v", o.Patience, leaveTime)
	}
	if o.Patience == 0 {
		o.Patience = leaveTime
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return nil
}
