package export

import (
	"cmp"

	"metasim/metasim"
)

// A Kind is what became of a message.
type Kind uint8

// The kinds, in the order in which they follow one another at one instant: a client first gets what is due, then sends.
const (
	Delivered Kind = iota + 1 // its recipient has handled it
	Sent                      // it was published: once, whatever the number of recipients
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

// An Occurrence is one thing that happened to a message in a run.
type Occurrence struct {
	Kind    Kind
	To      metasim.ClientID // the recipient; 0 where Kind is Sent
	Message metasim.Message  // Due is meaningful where Kind is Delivered; the payload is never to be changed
}

// At returns when it happened: a message is lost when it is sent.
func (o *Occurrence) At() metasim.Instant {
	if o.Kind == Delivered {
		return o.Message.Due
	}
	return o.Message.Sent
}

// involves reports whether a client is the sender or the recipient.
func (o *Occurrence) involves(id metasim.ClientID) bool {
	return o.Message.From == id || o.Kind != Sent && o.To == id
}

// compare is the order of an export. It names nothing that depends on real time, and only the copies of a duplicated
// message compare equal, which are equal.
func (o *Occurrence) compare(p *Occurrence) int {
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
