package delay

import (
	"fmt"

	"metasim/metasim"
)

// A Spec says what a link does to its messages. The zero value is a link of one step that loses nothing.
type Spec struct {
	// Delay is how long each message travels, once it is on the line. Nil: Constant(0), one step. Its least value is the
	// lookahead of the link: the greater, the more simulators run at once.
	Delay Distribution
	// Loss says which messages do not arrive. Nil: all do.
	Loss Loss
	// Order says whether a message may arrive before one that was sent earlier on this link. Zero: AnyOrder.
	Order Order
	// Bandwidth is how fast messages are put on the line, one after the other, in bits per second: payloads only, as there
	// are no headers in a simulated world. Zero: infinite, no message waits for another.
	Bandwidth Bandwidth
	// Duplicate is the probability, from 0 to 1, that a message that is not lost arrives twice. The copy is made on the
	// way: it does not occupy the line, and travels for a delay of its own. Zero: never.
	Duplicate float64
}

// Order says in which order the messages of one link arrive.
type Order uint8

const (
	// AnyOrder lets a message with a short delay arrive before an earlier one with a long delay, as datagrams do.
	AnyOrder Order = iota
	// FIFO makes a message wait for all that were sent before it and are not lost, as streams do: it arrives at the later
	// of its own instant and theirs.
	FIFO
)

// String returns the word of the scenario language.
func (o Order) String() string {
	switch o {
	case AnyOrder:
		return "any"
	case FIFO:
		return "fifo"
	}
	return fmt.Sprintf("order %d", uint8(o))
}

// Validate names the first contradiction, as a *FieldError.
func (s Spec) Validate() error {
	if s.Delay != nil {
		if err := s.Delay.validate(); err != nil {
			return err
		}
	}
	if s.Loss != nil {
		if err := s.Loss.validate(); err != nil {
			return err
		}
	}
	if s.Order > FIFO {
		return fieldError("order", "%v is not an order; use any or fifo", s.Order)
	}
	return checkProbability("duplicate", s.Duplicate)
}

// Min returns the least delay of a valid Spec, in nanoseconds: the lookahead of its links.
func (s Spec) Min() metasim.Time {
	if s.Delay == nil {
		return 0
	}
	return s.Delay.least()
}
