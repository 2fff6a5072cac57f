package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A Config is what a Server needs to know of its run.
type Config struct {
	// Core is the dispatcher's part: clients, delays, the end.
	Core metasim.Config
	// Scenario is the name of the run, and Seed its seed. Clients receive both.
	Scenario string
	Seed     uint64
	// About says by name what clients are told of their part in the scenario.
	About map[string]wire.About
	// Scopes are the scenarios inside of the scenario, whose clients know short names.
	Scopes scope.Set
	// Token is what a client must show to join. If it is empty, any peer that reaches a listener may join: that is right only
	// for listeners inside the process.
	Token string
	// Tokens are bound to the names of clients: such a client shows its own, once, and not Token.
	Tokens map[string]string
	// Permissions say by name which channels clients may use. A client without one may use all.
	Permissions map[string]session.Permission
	// Detach names the clients whose loss does not end the run. After such a loss the result is not deterministic.
	Detach map[string]bool
	// Restart, if set, has the processes of lost clients replaced.
	Restart *Restart
	// Patience says by name for how long a client that can come back to a resumed run waits for that, if this server dies. A client without one
	// does not wait.
	Patience map[string]time.Duration
	// Inside names the clients that the server's own process runs. Nobody else is told to join as one of them.
	Inside map[string]bool
	// Resume, if set, has the journal of this run, which was cut off: the run goes on where that ends. Restart is set then.
	Resume Resume
	// Live says that a client takes part in real time. The result is not deterministic then.
	Live bool
	// Driven says that the run waits for AdvanceTo, and does not go further than AdvanceTo allows. If it is false, the run
	// goes to its end.
	Driven bool
	// Timed asks clients to report how long they computed. Each measurement costs the client a look at the clock.
	Timed bool
	// MayBegin, if set, is asked once, by the goroutine that runs the dispatcher, when all clients have joined. An error ends the run before any of
	// them may do anything. It must not block.
	MayBegin func() error
	// StartTimeout is for how long Serve waits until all clients have joined, in wall-clock time. Zero: 30 s. Negative: no
	// limit.
	StartTimeout time.Duration
	// OutboxLimit is how many bytes may wait to be read by one connection. If more wait, the peer has 10 s to read some. It
	// is lost if it reads nothing in that time and sends more, or waits for an answer that it does not read; and it is lost at
	// once if it sends more while four times as many bytes wait. A peer that sends nothing and has its answer computes: it
	// may do so without limit. Zero: 64 MiB.
	OutboxLimit int
	// Visitors is how many connections from outside may be open on which nobody has shown the token. Others wait. Zero:
	// 64, or an eighth of the files that this process may have open, if that is less.
	Visitors int
	// Observers are given every event and its effects, in order, by the goroutine that runs the dispatcher: what happens often in a run with other
	// processes after what follows from it has been written, and before anything rare, such as a leave. An error ends the run.
	Observers []Observer
	// Gateway, if set, is given them too, each before its effects are carried out: it takes part in the run itself, see Gate.
	Gateway Observer
	// Settled, if set, is shown the dispatcher each time that it has decided which clients may go on, by the goroutine that runs it. It must not block,
	// step the dispatcher, nor call the Server.
	Settled func(*metasim.Dispatcher)
	// Checkpoints, if set, asks the clients that support checkpoints to make them.
	Checkpoints *Checkpoints
	// Durable, if set, has the record reach the disk before peers of other processes hear what follows from it.
	Durable Durable
	// After, if set, is called each time a goroutine has run the dispatcher, when another may run it. It lets clients inside
	// the process go on. canRunInline says that After may run them on this goroutine, so that they call the Server again; it
	// is false while a connection inside the process is being written. See client.Scheduler. Several goroutines may call
	// After at once.
	After func(canRunInline bool)
	// ProcessEnd, if set, is asked once how the process of a lost client ended. It may wait a moment for that end.
	ProcessEnd func(client string) ProcessEnd
	// Log gets what happens beside the run: refused clients, lost connections. The run does not wait for it: what is logged
	// faster than it is written is dropped, and counted. Nil: nothing is logged.
	Log *slog.Logger
}

// An Observer watches a run. The run waits for it, so it must not block: what it has to write it writes later, and says so as a
// Deferred.
type Observer interface {
	// Observe is given an event and its effects, or nil and the effects of a Settle. Both are valid until it returns. wall is
	// the time since Serve was called, in nanoseconds.
	Observe(wall int64, ev metasim.Event, effects []metasim.Effect) error
}

// A Durable observer can have what it was given so far reach the disk.
type Durable interface {
	// Commit begins that, and returns what waits until it is done. Another goroutine calls that.
	Commit() (reached func() error)
}

// A Restart says which clients take part again after their process has died, in a new one. They must be deterministic: a client is given
// again what it was given, and must send again what it sent. Nobody else notices.
type Restart struct {
	// Limit says for each client, by name, how often. A client that is not there is lost at once.
	Limit map[string]int
	// Start starts the process of a client again, for this life of it: 1 for the first one after a restart or a Move. It may not block. How the
	// process ends is told by Exited.
	Start func(client string, life int)
	// Past returns what the journal holds of a client by now; if it saves, of what follows its last checkpoint.
	Past func(id metasim.ClientID, saves bool) Past
}

// Checkpoints say how often clients save their state, and keep it. A client that is started again repeats only what follows its last checkpoint.
type Checkpoints struct {
	// Every says for each client, by name, the interval of its checkpoints, in simulated time. A client without an interval makes none.
	Every map[string]metasim.Time
	// Keep keeps a checkpoint. What led to it was observed. It does not block, and may leave one out if the disk is slow. It reports
	// whether it keeps it.
	Keep func(id metasim.ClientID, saved *session.Saved) bool
}

// A Resume reads the journal of a run that was cut off.
type Resume interface {
	// Next returns the next entry: an event, or nil for a settling, and its effects as they were recorded. It fails with io.EOF at the
	// end of what is good. Another goroutine calls it than calls Missing.
	Next() (wall int64, ev metasim.Event, recorded []byte, err error)
	// Missing returns those effects that follow the recorded ones. same is false if others were recorded.
	Missing(recorded []byte, effects []metasim.Effect) (missing []metasim.Effect, same bool)
	// Continue has the journal go on where it ends. missing are effects of the last entry that were not recorded.
	Continue(missing []metasim.Effect) error
}

// A Past is what a journal holds of a client.
type Past interface {
	// Next returns the next part, and whether it is the last. It may wait for a disk.
	Next() (part *session.Past, last bool, err error)
	Close() error
}

// A Deferred observer writes on a goroutine of its own what it was given. While too much waits there, the run waits: nothing that clients
// send is taken. See Config.Observers.
type Deferred interface {
	Observer
	// Full reports whether too much waits, or returns why nothing can be written any more, which ends the run. Several goroutines
	// may call it at once.
	Full() (bool, error)
	// Notify sets what is called, by any goroutine, each time that Full changes from true to false, or to an error.
	Notify(changed func())
	// Flush has everything written that was observed. It is called soon after each event, also where nothing comes any more: who kills a
	// run that hangs finds in its record what happened. It does not block.
	Flush()
}

// DefaultStartTimeout is Config.StartTimeout where it is zero.
const DefaultStartTimeout = 30 * time.Second

// maxVisitors is Config.Visitors where it is zero and many files may be open.
const maxVisitors = 64

// defaultOutboxLimit is Config.OutboxLimit where it is zero.
const defaultOutboxLimit = 64 << 20

// Validate returns an error for the first value that cannot be right.
func (c *Config) Validate() error {
	if err := c.Core.Validate(); err != nil {
		return err
	}
	if c.OutboxLimit < 0 {
		return fmt.Errorf("OutboxLimit is %d bytes; use a positive number, or 0 for %d", c.OutboxLimit, defaultOutboxLimit)
	}
	for _, o := range c.Observers {
		if o == nil {
			return errors.New("an observer is nil; leave it out")
		}
	}
	return nil
}
