package journal

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"metasim/metasim"
)

// inFlight completes messages while a journal is read: a payload is in the journal once, in its Send, and the effects refer to it. It
// keeps a message as long as an effect may still refer to it.
//
// A run has many more copies than messages, and each copy is looked up twice. So messages lie on pages in the order in which they
// were sent, and their copies lie with them.
type inFlight struct {
	// hashed says that a message has, instead of its payload, the hash of its send in 8 bytes. That is all that an index needs.
	hashed bool

	sends   map[metasim.ClientID]uint64 // how many each client has sent
	pages   map[ref]*page               // by the first message of the page
	current ref                         // the send of this entry, if hasSend
	hasSend bool

	left   map[metasim.ClientID]bool // clients that have left
	queued map[metasim.ClientID]int  // copies for each client that has not left
	total  int                       // the sum of queued
	stale  int                       // copies for clients that have left since the last sweep
}

// A ref names a send.
type ref struct {
	from metasim.ClientID
	seq  uint64 // counts the sends of from, from 0
}

// first returns the ref by which the page of a message is known.
func (r ref) first() ref { return ref{r.from, r.seq &^ (pageSize - 1)} }

// A page holds successive messages of one client.
type page struct {
	messages [pageSize]*sentMessage // nil: not sent yet, or forgotten
	used     int                    // how many are not nil
}

const pageSize = 256

// A sentMessage is what a ref does not say of a message, and the copies that are queued of it.
type sentMessage struct {
	channel string
	sent    metasim.Instant
	payload []byte
	copies  []copies // in order of to; none has n = 0
}

// message returns the message of a ref, without its Due.
func (m *sentMessage) message(r ref) metasim.Message {
	return metasim.Message{From: r.from, Seq: r.seq, Channel: m.channel, Sent: m.sent, Payload: m.payload}
}

// copies are those of a message that are queued for one client.
type copies struct {
	to metasim.ClientID
	n  uint32
}

func newInFlight() inFlight {
	return inFlight{
		sends: map[metasim.ClientID]uint64{}, pages: map[ref]*page{},
		left: map[metasim.ClientID]bool{}, queued: map[metasim.ClientID]int{},
	}
}

// find returns a message, or nil if it is not known.
func (f *inFlight) find(r ref) *sentMessage {
	if p := f.pages[r.first()]; p != nil {
		return p.messages[r.seq%pageSize]
	}
	return nil
}

func (f *inFlight) forget(r ref) {
	p := f.pages[r.first()]
	p.messages[r.seq%pageSize] = nil
	if p.used--; p.used == 0 {
		delete(f.pages, r.first())
	}
}

// send adds the message of a Send.
func (f *inFlight) send(ev *metasim.Send) {
	r := ref{ev.Client, f.sends[ev.Client]}
	f.current, f.hasSend = r, true
	f.sends[ev.Client]++
	p := f.pages[r.first()]
	if p == nil {
		p = new(page)
		f.pages[r.first()] = p
	}
	p.used++
	m := &sentMessage{channel: ev.Channel, sent: ev.Sent, payload: ev.Payload}
	if f.hashed {
		m.payload = binary.LittleEndian.AppendUint64(nil, metasim.HashSend(ev.Sent, ev.Channel, ev.Payload))
	}
	p.messages[r.seq%pageSize] = m
}

// queue returns the message of a Queue. A copy for a client that has left is not counted, because it is never delivered.
func (f *inFlight) queue(to metasim.ClientID, r ref) (metasim.Message, error) {
	m := f.find(r)
	if m == nil {
		return metasim.Message{}, unknown("queues", to, r)
	}
	if !f.left[to] {
		i, found := m.search(to)
		if !found {
			m.copies = slices.Insert(m.copies, i, copies{to: to})
		}
		m.copies[i].n++
		f.queued[to]++
		f.total++
	}
	return m.message(r), nil
}

// search returns where the copies for a client are, or would be.
func (m *sentMessage) search(to metasim.ClientID) (i int, found bool) {
	return slices.BinarySearchFunc(m.copies, to, func(c copies, to metasim.ClientID) int { return cmp.Compare(c.to, to) })
}

// lose returns the message of a Lose. If it was sent in this entry, the copy was never queued.
func (f *inFlight) lose(to metasim.ClientID, r ref) (metasim.Message, error) {
	m := f.find(r)
	if m == nil {
		return metasim.Message{}, unknown("loses", to, r)
	}
	if !f.isCurrent(r) {
		f.remove(to, r, m)
	}
	return m.message(r), nil
}

// deliver returns the message of a Deliver, of which a copy must be queued.
func (f *inFlight) deliver(to metasim.ClientID, r ref) (metasim.Message, error) {
	m := f.find(r)
	if m == nil || !f.remove(to, r, m) {
		return metasim.Message{}, unknown("delivers", to, r)
	}
	return m.message(r), nil
}

func (f *inFlight) isCurrent(r ref) bool { return f.hasSend && r == f.current }

// remove removes one copy. It returns false if none is queued.
func (f *inFlight) remove(to metasim.ClientID, r ref, m *sentMessage) bool {
	i, found := m.search(to)
	if !found || f.left[to] {
		return false
	}
	f.queued[to]--
	f.total--
	if m.copies[i].n--; m.copies[i].n == 0 {
		m.copies = slices.Delete(m.copies, i, i+1)
	}
	if len(m.copies) == 0 && !f.isCurrent(r) { // the rest of the entry may refer to the current send
		f.forget(r)
	}
	return true
}

// endEntry ends an entry. It forgets a send of which no copy was queued, and what is queued for a client that left.
func (f *inFlight) endEntry(ev metasim.Event) {
	if f.hasSend {
		if m := f.find(f.current); m != nil && len(m.copies) == 0 {
			f.forget(f.current)
		}
	}
	f.hasSend = false
	if leave, ok := ev.(*metasim.Leave); ok && !f.left[leave.Client] {
		f.left[leave.Client] = true
		f.stale += f.queued[leave.Client]
		f.total -= f.queued[leave.Client]
		delete(f.queued, leave.Client)
	}
	// Many clients leave at the end of a run, and a sweep goes through all messages: it waits until it frees half of the copies.
	if f.stale > f.total {
		f.sweep()
	}
}

// sweep forgets what is queued for clients that have left.
func (f *inFlight) sweep() {
	f.stale = 0
	for first, p := range f.pages {
		for i, m := range p.messages {
			if m == nil {
				continue
			}
			m.copies = slices.DeleteFunc(m.copies, func(c copies) bool { return f.left[c.to] })
			if len(m.copies) == 0 {
				f.forget(ref{first.from, first.seq + uint64(i)})
			}
		}
	}
}

func unknown(verb string, to metasim.ClientID, r ref) error {
	return fmt.Errorf("a record %s message %d of client %d for client %d, but the journal has no such message to be delivered",
		verb, r.seq, r.from, to)
}
