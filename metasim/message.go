package metasim

import "cmp"

// A ClientID is the rank of a client's name among all names of the run, in order of bytes, from 0. It depends on the
// scenario alone, never on who connected first, so it may decide ties.
type ClientID uint32

// A Message is one publish on its way to one recipient.
type Message struct {
	From    ClientID
	Seq     uint64 // counts the sends of From, from 0
	Channel string
	Sent    Instant
	Due     Instant
	Payload []byte // never changed after it was sent
}

// Compare is the total order in which one recipient gets its messages: (Due, Sent, From, Seq). It names nothing that
// depends on when a message reached the dispatcher. Only the copies of a duplicated message compare equal, and they
// are equal.
func (m *Message) Compare(n *Message) int {
	if c := m.Due.Compare(n.Due); c != 0 {
		return c
	}
	if c := m.Sent.Compare(n.Sent); c != 0 {
		return c
	}
	if c := cmp.Compare(m.From, n.From); c != 0 {
		return c
	}
	return cmp.Compare(m.Seq, n.Seq)
}
