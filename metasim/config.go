package metasim

import (
	"errors"
	"fmt"
	"slices"
)

// DefaultMaxSteps is how many steps one time may have where a Config does not say.
const DefaultMaxSteps = 1000

// DefaultAhead is how much a client is given ahead of what it has handled where a Config does not say: 1 MiB.
const DefaultAhead = 1 << 20

// A Config is what the dispatcher knows before anybody joins.
type Config struct {
	// Clients are the names of all that take part: at least one, unique, in any order. Nobody else may join.
	Clients []string
	// Delays says how long messages travel. Nil: one step on every link.
	Delays Delays
	// Until ends the run: everything strictly before it happens. Zero: when every client has left.
	Until Time
	// MaxSteps is how many steps one time may have before the run is ended as one that stands still.
	// Zero: DefaultMaxSteps. Raise it for long chains of links without delay.
	MaxSteps uint32
	// Ahead bounds the bytes (payloads, and 64 for each message) that a client is given ahead of what it waits for and
	// has not handled yet, so that a slow one holds a bounded outbox. What is due at one instant is never split.
	// Zero: DefaultAhead.
	Ahead int
}

// Validate names the first contradiction.
func (c *Config) Validate() error {
	if len(c.Clients) == 0 {
		return errors.New("metasim: a run needs at least one client")
	}
	if c.Until < 0 {
		return fmt.Errorf("metasim: the run ends at %v, before it begins; use a positive time, or 0 for no end", c.Until)
	}
	if c.Ahead < 0 {
		return fmt.Errorf("metasim: Ahead is %d bytes; use a positive number, or 0 for %d", c.Ahead, DefaultAhead)
	}
	names := slices.Sorted(slices.Values(c.Clients))
	for i, name := range names {
		if name == "" {
			return errors.New("metasim: a client has no name; name it")
		}
		if i > 0 && name == names[i-1] {
			return fmt.Errorf("metasim: two clients are called %q; a name is unique in a run", name)
		}
	}
	return nil
}

// oneStep is the link that is there when nobody says otherwise.
type oneStep struct{}

func (oneStep) Link(string, string, string) Link { return oneStep{} }
func (oneStep) Common(string) (Link, bool)       { return oneStep{}, true }
func (oneStep) Min() Time                        { return 0 }
func (oneStep) Steady() bool                     { return true }
func (oneStep) Earliest(x Instant) Instant       { return x.Add(0) }
func (oneStep) Transit(dues []Instant, _ uint64, sent Instant, _ int) []Instant {
	return append(dues, sent.Add(0))
}
