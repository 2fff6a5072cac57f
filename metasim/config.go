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

// DefaultMemory is the bound on what a run holds where a scenario does not say: 256 MiB.
const DefaultMemory = 256 << 20

// DefaultCascade is the bound on what is sent without delay at one step where a scenario does not say: 128 MiB.
const DefaultCascade = 128 << 20

// A Config is what the dispatcher knows before any client joins.
type Config struct {
	// Clients are the names of all that take part: at least one, unique, in any order. No other client may join.
	Clients []string
	// Delays says how long messages travel. Nil: one step on every link.
	Delays Delays
	// Until ends the run: everything strictly before it happens. Zero: when every client has left.
	Until Time
	// MaxSteps is how many steps one time may have before the run is ended as one that stands still.
	// Zero: DefaultMaxSteps. Raise it for long chains of links without delay.
	MaxSteps uint32
	// Ahead bounds the bytes (payloads, and 64 for each message) that a client is given ahead of what it waits for and
	// has not handled yet, so that a slow client has a bounded outbox. What is due at one instant is never split.
	// Zero: DefaultAhead. A bound on memory may make it less, where there are many clients.
	Ahead int
	// AheadOf is Ahead for single clients, by name. No bound on memory makes it less.
	AheadOf map[string]int
	// Memory bounds the bytes of the messages that are sent and not handled yet, as memory.go counts them: who is ahead of
	// the others waits for them. What must be on its way at one time may take more. Zero: no bound.
	Memory int
	// Groups are clients that belong together, by name: one gateway to a nested run speaks for all clients of a group. What one of them is
	// given each of them may answer, at that very instant. Any message reaches a group as it was sent, one step later, whatever Delays
	// says: the delays to the clients behind the gateway are the nested dispatcher's. The clients of a group do not hear one another.
	Groups [][]string
	// Outside are the clients that another dispatcher speaks for: see Dispatcher.EarliestSend. They only send.
	Outside []string
	// Cascade bounds what is sent without delay at one step of a time, but the first, in bytes as cascade.go counts them: where such
	// messages multiply from step to step, the run ends before they fill the memory. Zero: no bound.
	Cascade int
}

// Validate names the first contradiction.
func (c *Config) Validate() error {
	if len(c.Clients) == 0 {
		return errors.New("a run needs at least one client")
	}
	if c.Until < 0 {
		return fmt.Errorf("the run ends at %v, before it begins; use a positive time, or 0 for no end", c.Until)
	}
	if c.Ahead < 0 {
		return fmt.Errorf("a client may be given %d bytes ahead; use a positive number, or 0 for %d", c.Ahead, DefaultAhead)
	}
	if c.Memory < 0 {
		return fmt.Errorf("a run may hold %d bytes; use a positive number, or 0 for no bound", c.Memory)
	}
	if c.Cascade < 0 {
		return fmt.Errorf("%d bytes may be sent without delay at one step; use a positive number, or 0 for no bound", c.Cascade)
	}
	names := slices.Sorted(slices.Values(c.Clients))
	for i, name := range names {
		if name == "" {
			return errors.New("a client has no name; name it")
		}
		if i > 0 && name == names[i-1] {
			return fmt.Errorf("two clients are called %q; a name is unique in a run", name)
		}
		if c.AheadOf[name] < 0 {
			return fmt.Errorf("client %q may be given %d bytes ahead; use a positive number", name, c.AheadOf[name])
		}
	}
	return c.checkGroups()
}

// checkGroups names the first contradiction in the groups and the outside clients.
func (c *Config) checkGroups() error {
	known := make(map[string]bool, len(c.Clients))
	for _, name := range c.Clients {
		known[name] = true
	}
	grouped := map[string]bool{}
	for _, names := range c.Groups {
		if len(names) == 0 {
			return errors.New("a group has no client; name its clients, or leave it out")
		}
		for _, name := range names {
			switch {
			case !known[name]:
				return fmt.Errorf("a group has %q, which is no client of the run; name one of the clients", name)
			case grouped[name]:
				return fmt.Errorf("client %q is in two groups, or twice in one; name it once", name)
			}
			grouped[name] = true
		}
	}
	outside := map[string]bool{}
	for _, name := range c.Outside {
		switch {
		case !known[name]:
			return fmt.Errorf("%q is outside, and no client of the run; name one of the clients", name)
		case outside[name]:
			return fmt.Errorf("client %q is outside twice; name it once", name)
		}
		outside[name] = true
	}
	return nil
}

// Delays says how long messages travel. The machine declares here what it needs; package delay satisfies it.
type Delays interface {
	// Link returns the link from one client to another on a channel, in its initial state. It is called once for each
	// link, in order of (from, channel, to).
	Link(from, to, channel string) Link
}

// CommonDelays are Delays that know channels on which all links are alike and have no state. Such a channel costs as
// much as it has clients, not as many links as it has pairs of them.
type CommonDelays interface {
	Delays
	// Common returns the Link that serves every link on a channel, and true, if there is one. Its Transit is called with
	// the number 0, for messages of all senders in turn, and its Earliest is always its least delay after x.
	Common(channel string) (Link, bool)
}

// A Link carries the messages of one sender on one channel to one recipient. It may have a state (messages queue
// behind one another), which is a function of the messages sent on it so far: never of real time.
//
// A Link may also have the method Steady() bool. Where that returns true, Earliest(x) is x.Add(Min()) always, whatever was
// sent; then Earliest is not called, and safe times cost less.
type Link interface {
	// Min is the least delay of any message on this link, in nanoseconds: its lookahead.
	Min() Time
	// Transit appends to dues when the n-th message of this link (from 0) arrives, sent at sent with a payload of
	// size bytes: nothing for a lost message, two instants for a duplicated one. Each is at or after Earliest(sent),
	// asked before. It is called once for each message, in order of n, with sent never going back.
	Transit(dues []Instant, n uint64, sent Instant, size int) []Instant
	// Earliest is the earliest due of any message that is still to be sent, at x or later. It is strictly after x, and
	// never falls as x rises. When a message is sent at some instant, Earliest does not fall for any x at or before that
	// instant: so safe times do not fall, as they ask for no x after what the sender may still send.
	Earliest(x Instant) Instant
}

// oneStep is the link where nothing else is said.
type oneStep struct{}

func (oneStep) Link(string, string, string) Link { return oneStep{} }
func (oneStep) Common(string) (Link, bool)       { return oneStep{}, true }
func (oneStep) Min() Time                        { return 0 }
func (oneStep) Steady() bool                     { return true }
func (oneStep) Earliest(x Instant) Instant       { return x.Add(0) }
func (oneStep) Transit(dues []Instant, _ uint64, sent Instant, _ int) []Instant {
	return append(dues, sent.Add(0))
}
