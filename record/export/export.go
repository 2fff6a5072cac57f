package export

import (
	"cmp"

	"metasim/metasim"
)

// A Kind says what happened to a message.
type Kind uint8

// The kinds, in their order at one instant: a client first handles what is due, then it sends.
const (
	Delivered   Kind = iota + 1 // its recipient has handled it
	Sent                        // it was published: one occurrence, whatever the number of recipients
	Lost                        // the link dropped it on its way to a recipient
	Undelivered                 // it was due, and its recipient did not handle it, because it had left or the run ended before
)

func (k Kind) String() string {
	switch k {
	case Delivered:
		return "delivered"
	case Sent:
		return "sent"
	case Lost:
		return "lost"
	case Undelivered:
		return "undelivered"
	}
	return "unknown"
}

// A kindSet says of which kinds occurrences are wanted: of others nothing is kept.
type kindSet uint8

func kindsOf(kinds ...Kind) (s kindSet) {
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k Kind) bool { return s&(1<<k) != 0 }

// An occurrence is one thing that happened to a message in a run.
type occurrence struct {
	Kind    Kind
	To      metasim.ClientID // the recipient; 0 where Kind is Sent
	Message metasim.Message  // Due is valid where it was due; the payload must not be changed
}

// wasDue reports whether a message reached its recipient, which may not have handled it.
func (o *occurrence) wasDue() bool { return o.Kind == Delivered || o.Kind == Undelivered }

// At returns when it happened: a message is lost when it is sent.
func (o *occurrence) At() metasim.Instant {
	if o.wasDue() {
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
	switch {
	case o.wasDue() && p.wasDue():
		if o.To != p.To {
			return cmp.Compare(o.To, p.To)
		}
	case o.wasDue():
		return -1
	case p.wasDue():
		return 1
	case o.Kind != p.Kind:
		return cmp.Compare(o.Kind, p.Kind)
	}
	m, n := &o.Message, &p.Message
	return cmp.Or(m.Sent.Compare(n.Sent), cmp.Compare(m.From, n.From), cmp.Compare(m.Seq, n.Seq), cmp.Compare(o.To, p.To))
}

// A sink takes an export: an eventLog or an mcapFile.
type sink interface {
	// Kinds says what it takes.
	Kinds() kindSet
	// Write takes the next occurrence of walkJournal, perhaps of another kind. It keeps nothing of it.
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
