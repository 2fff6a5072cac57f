package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"metasim/metasim"
)

// A Config is what a run needs to be served.
type Config struct {
	// Core is the dispatcher's part: clients, delays, the end.
	Core metasim.Config
	// Scenario is the name of the run, and Seed its seed: clients are told both, for their logs and models.
	Scenario string
	Seed     uint64
	// Token is what a client must show to join. Empty: anybody who reaches a listener may join, which is right only for
	// listeners inside the process.
	Token string
	// Detach names the clients without which the run may go on when they are lost. Its result then is not deterministic.
	Detach map[string]bool
	// Live says that a client takes part in real time: then the result is not deterministic either.
	Live bool
	// Driven makes the run stop before each time that AdvanceTo has not allowed yet. False: it runs to its end.
	Driven bool
	// Timed asks clients to say in their reports how long they computed. It costs them a look at the clock each time.
	Timed bool
	// StartTimeout is how long to wait, in wall-clock time, for all clients to join. Zero: 30 s. Negative: for ever.
	StartTimeout time.Duration
	// OutboxLimit is how many bytes may wait to be read by one connection. A peer for which more waits has 10 s to take
	// some; if it goes on asking after that, or while four times as much waits, it counts as lost: it asks without reading.
	// One that is silent computes, and may do so for ever. Zero: 64 MiB.
	OutboxLimit int
	// Observers see every event and its effects, in order, on the server's goroutine. An error ends the run.
	Observers []Observer
	// After is called, where it is set, by whoever ran the machine, when others may run it again: clients inside the
	// process that have been given something can go on then. here says that After may let them, and so come back to the
	// server: not where a connection inside the process is being written. See client.Crew.
	After func(here bool)
	// Obituary is asked, once, what became of a client whose connection was lost: its process's exit status and last
	// output, say. It may wait a moment for the process to end. Nil: nothing more is known.
	Obituary func(client string) Obituary
	// Log gets what happens beside the run: refused clients, lost connections. Nil: nothing is logged.
	Log *slog.Logger
}

// An Observer watches a run. It must not block for long: the run waits for it.
type Observer interface {
	// Observe is given an event and its effects, or nil and the effects of a Settle; both only until it returns. wall is
	// the time since the run began, in nanoseconds.
	Observe(wall int64, ev metasim.Event, effects []metasim.Effect) error
}

// Defaults of Config.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultOutboxLimit  = 64 << 20
)

// Validate names the first contradiction.
func (c *Config) Validate() error {
	if err := c.Core.Validate(); err != nil {
		return err
	}
	if c.OutboxLimit < 0 {
		return fmt.Errorf("server: OutboxLimit is %d bytes; use a positive number, or 0 for %d", c.OutboxLimit, DefaultOutboxLimit)
	}
	for _, o := range c.Observers {
		if o == nil {
			return errors.New("server: an observer is nil; leave it out")
		}
	}
	return nil
}
