package journal

import (
	"fmt"

	"metasim/metasim"
)

// A ref names a send.
type ref struct {
	from metasim.ClientID
	seq  uint64 // of the sends of from, from 0
}

// A book puts messages back together: a payload lies in the journal once, with its Send, and the effects refer to it.
type book struct {
	sends map[metasim.ClientID]uint64
	kept  map[ref]*kept
	owed  map[metasim.ClientID]map[ref]int // copies that are queued for each client
	gone  map[metasim.ClientID]bool
	fresh ref // the send of this entry
	sent  bool
}

// kept is a message of which copies are queued.
type kept struct {
	metasim.Message     // without its Due
	copies          int // queued, for anybody
}

func newBook() book {
	return book{
		sends: map[metasim.ClientID]uint64{},
		kept:  map[ref]*kept{},
		owed:  map[metasim.ClientID]map[ref]int{},
		gone:  map[metasim.ClientID]bool{},
	}
}

// send takes a send.
func (b *book) send(ev *metasim.Send) {
	b.fresh, b.sent = ref{ev.Client, b.sends[ev.Client]}, true
	b.sends[ev.Client]++
	b.kept[b.fresh] = &kept{Message: metasim.Message{
		From: ev.Client, Seq: b.fresh.seq, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload,
	}}
}

// queue returns the message of a Queue. What is queued for a client that has left is never delivered.
func (b *book) queue(to metasim.ClientID, r ref) (metasim.Message, error) {
	k := b.kept[r]
	if k == nil {
		return metasim.Message{}, unknown("queues", to, r)
	}
	if !b.gone[to] {
		if b.owed[to] == nil {
			b.owed[to] = map[ref]int{}
		}
		b.owed[to][r]++
		k.copies++
	}
	return k.Message, nil
}

// lose returns the message of a Lose: it never was queued if it was sent in this entry.
func (b *book) lose(to metasim.ClientID, r ref) (metasim.Message, error) {
	k := b.kept[r]
	if k == nil {
		return metasim.Message{}, unknown("loses", to, r)
	}
	if !b.sent || r != b.fresh {
		b.take(to, r, k)
	}
	return k.Message, nil
}

// deliver returns the message of a Deliver, of which a copy was queued.
func (b *book) deliver(to metasim.ClientID, r ref) (metasim.Message, error) {
	k := b.kept[r]
	if k == nil || !b.take(to, r, k) {
		return metasim.Message{}, unknown("delivers", to, r)
	}
	return k.Message, nil
}

// take takes one copy off. It returns false if none was queued.
func (b *book) take(to metasim.ClientID, r ref, k *kept) bool {
	owed := b.owed[to]
	if owed[r] == 0 {
		return false
	}
	if owed[r]--; owed[r] == 0 {
		delete(owed, r)
	}
	if k.copies--; k.copies == 0 {
		delete(b.kept, r)
	}
	return true
}

// shut ends an entry: what was sent and queued for nobody is forgotten, and so is what was queued for one who left.
func (b *book) shut(ev metasim.Event) {
	if k := b.kept[b.fresh]; b.sent && k != nil && k.copies == 0 {
		delete(b.kept, b.fresh)
	}
	b.sent = false
	leave, ok := ev.(*metasim.Leave)
	if !ok {
		return
	}
	for r, n := range b.owed[leave.Client] {
		k := b.kept[r]
		if k.copies -= n; k.copies == 0 {
			delete(b.kept, r)
		}
	}
	delete(b.owed, leave.Client)
	b.gone[leave.Client] = true
}

func unknown(verb string, to metasim.ClientID, r ref) error {
	return fmt.Errorf("a record %s message %d of client %d for client %d, of which the journal does not know",
		verb, r.seq, r.from, to)
}
