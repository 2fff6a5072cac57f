package export

import (
	"cmp"
	"fmt"
	"strconv"

	"metasim/metasim"
)

// A Kind says what happened to a message.
type Kind uint8

// The kinds, in their order at one instant: a client first handles what is due, then it sends.
const (
	Delivered Kind = iota + 1 // its recipient has handled it
	Sent                      // it was published: one occurrence, whatever the number of recipients
	Lost                      // the link dropped it on its way to a recipient
)

func (k Kind) String() string {
	switch k {
	case Delivered:
		return "delivered"
	case Sent:
		return "sent"
	case Lost:
		return "lost"
	}
	return "unknown"
}

// An occurrence is one thing that happened to a message in a run.
type occurrence struct {
	Kind    Kind
	To      metasim.ClientID // the recipient; 0 where Kind is Sent
	Message metasim.Message  // Due is valid where Kind is Delivered; the payload must not be changed
}

// At returns when it happened: a message is lost when it is sent.
func (o *occurrence) At() metasim.Instant {
	if o.Kind == Delivered {
		return o.Message.Due
	}
	return o.Message.Sent
}

// compare is the order of an export. It depends on nothing that depends on real time. Only the copies of a duplicated message
// compare equal, and they are equal.
func (o *occurrence) compare(p *occurrence) int {
	if c := o.At().Compare(p.At()); c != 0 {
		return c
	}
	if o.Kind != p.Kind {
		return cmp.Compare(o.Kind, p.Kind)
	}
	if o.Kind == Delivered && o.To != p.To {
		return cmp.Compare(o.To, p.To)
	}
	m, n := &o.Message, &p.Message
	return cmp.Or(m.Sent.Compare(n.Sent), cmp.Compare(m.From, n.From), cmp.Compare(m.Seq, n.Seq), cmp.Compare(o.To, p.To))
}

// A sink takes an export: an eventLog or an mcapFile.
type sink interface {
	// Write takes the next occurrence of walkJournal. It keeps nothing of it.
	Write(*occurrence) error
	// Close writes what is buffered. It does not close the file.
	Close() error
	// Count returns what was written so far.
	Count() Count
}

// A Count says how much an export has.
type Count struct {
	Messages  int64        // messages in the file
	Empty     int64        // messages with an empty payload, in a log
	Undecoded int64        // payloads that begin like a known type but are not of that type
	Last      metasim.Time // when the last message occurred
}

// An End says how a journal ended.
type End struct {
	// Finished: the run has ended, well or not. A run that was killed has not.
	Finished bool
	// Torn is the *[journal.TornError] at which the journal breaks off, if it does. What is before was exported.
	Torn error
}

// An OrderError tells that the messages of a journal are out of order: metasim did not write it.
type OrderError struct {
	Client string // sent or handled the message
	At     metasim.Instant
	Bound  metasim.Instant // everything before was complete, by the promises of all clients
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("the journal has a message of %q at %v after all clients had promised that everything before %v was complete; "+
		"metasim did not write it, or it was changed", e.Client, e.At, e.Bound)
}

// A NameError tells that a name does not fit a format.
type NameError struct {
	Name string
	What string // the format
	Max  int    // bytes of a name; 0 where only the characters count
}

func (e *NameError) Error() string {
	if e.Max == 0 {
		return fmt.Sprintf("the name %q does not fit %s, where names are UTF-8; rename the channel", e.Name, e.What)
	}
	return fmt.Sprintf("the name %.100q has %d bytes and does not fit %s, where names have 1 to %d bytes and no NUL; "+
		"shorten the names of the channel and of its clients", e.Name, len(e.Name), e.What, e.Max)
}

// A TimeError tells that something occurred at an instant that a file cannot have.
type TimeError struct {
	Client, Channel string
	Kind            Kind
	At              metasim.Instant
}

func (e *TimeError) Error() string {
	return fmt.Sprintf("a message of %q on %q is %v at %v, which no file can have as a time; give the run an end (until)",
		e.Client, e.Channel, e.Kind, e.At)
}

// A ChannelsError tells that a run has more channels than an MCAP file can number.
type ChannelsError struct{ Max int }

func (e *ChannelsError) Error() string {
	return "the run has more than " + strconv.Itoa(e.Max) + " combinations of channel, sender and recipient, " +
		"and MCAP has no more numbers for them; export one client at a time"
}
