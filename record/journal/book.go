package journal

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/metasim"
)

// A ref names a send.
type ref struct {
	from metasim.ClientID
	seq  uint64 // of the sends of from, from 0
}

// A book puts messages back together: a payload lies in the journal once, with its Send, and the effects refer to it.
//
// A run has many more copies than messages, and each is looked up twice. So messages lie on pages, in the order in which
// they were sent, and copies lie with their message.
type book struct {
	sends map[metasim.ClientID]uint64
	pages map[ref]*page // by the first of their sends
	kept  int           // messages
	fresh ref           // the send of this entry
	sent  bool

	gone   map[metasim.ClientID]bool
	owed   map[metasim.ClientID]int // copies that are queued for each client that is there
	queued int                      // the sum of that
	stale  int                      // copies that are for clients that have left since somebody swept
}

// A page is a sheet of messages that one client sent after one another.
type page struct {
	messages [pageSize]*kept // nil: not sent yet, or forgotten
	live     int
}

const pageSize = 256

// kept is a message of which copies are queued.
type kept struct {
	metasim.Message         // without its Due
	copies          []owing // in order of to; none has n = 0
}

// An owing is how many copies of a message are queued for a client.
type owing struct {
	to metasim.ClientID
	n  uint32
}

func newBook() book {
	return book{
		sends: map[metasim.ClientID]uint64{}, pages: map[ref]*page{},
		gone: map[metasim.ClientID]bool{}, owed: map[metasim.ClientID]int{},
	}
}

// find returns the message of a send; nil where it is not known.
func (b *book) find(r ref) *kept {
	if p := b.pages[ref{r.from, r.seq &^ (pageSize - 1)}]; p != nil {
		return p.messages[r.seq%pageSize]
	}
	return nil
}

func (b *book) forget(r ref) {
	first := ref{r.from, r.seq &^ (pageSize - 1)}
	p := b.pages[first]
	p.messages[r.seq%pageSize] = nil
	b.kept--
	if p.live--; p.live == 0 {
		delete(b.pages, first)
	}
}

// send takes a send.
func (b *book) send(ev *metasim.Send) {
	r := ref{ev.Client, b.sends[ev.Client]}
	b.fresh, b.sent = r, true
	b.sends[ev.Client]++
	first := ref{r.from, r.seq &^ (pageSize - 1)}
	p := b.pages[first]
	if p == nil {
		p = new(page)
		b.pages[first] = p
	}
	p.live++
	b.kept++
	p.messages[r.seq%pageSize] = &kept{Message: metasim.Message{
		From: ev.Client, Seq: r.seq, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload,
	}}
}

// queue returns the message of a Queue. What is queued for a client that has left is never delivered.
func (b *book) queue(to metasim.ClientID, r ref) (metasim.Message, error) {
	k := b.find(r)
	if k == nil {
		return metasim.Message{}, unknown("queues", to, r)
	}
	if !b.gone[to] {
		i, there := k.search(to)
		if !there {
			k.copies = slices.Insert(k.copies, i, owing{to: to})
		}
		k.copies[i].n++
		b.owed[to]++
		b.queued++
	}
	return k.Message, nil
}

// search returns where the copies for a client are, or would be.
func (k *kept) search(to metasim.ClientID) (i int, there bool) {
	return slices.BinarySearchFunc(k.copies, to, func(o owing, to metasim.ClientID) int { return cmp.Compare(o.to, to) })
}

// lose returns the message of a Lose: it never was queued if it was sent in this entry.
func (b *book) lose(to metasim.ClientID, r ref) (metasim.Message, error) {
	k := b.find(r)
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
	k := b.find(r)
	if k == nil || !b.take(to, r, k) {
		return metasim.Message{}, unknown("delivers", to, r)
	}
	return k.Message, nil
}

// take takes one copy off. It returns false if none was queued.
func (b *book) take(to metasim.ClientID, r ref, k *kept) bool {
	i, there := k.search(to)
	if !there || b.gone[to] {
		return false
	}
	b.owed[to]--
	b.queued--
	if k.copies[i].n--; k.copies[i].n == 0 {
		k.copies = slices.Delete(k.copies, i, i+1)
	}
	if len(k.copies) == 0 && !(b.sent && r == b.fresh) { // the rest of the entry may say more of it
		b.forget(r)
	}
	return true
}

// shut ends an entry: what was sent and queued for nobody is forgotten, and so is what was queued for one who left.
func (b *book) shut(ev metasim.Event) {
	if b.sent {
		if k := b.find(b.fresh); k != nil && len(k.copies) == 0 {
			b.forget(b.fresh)
		}
	}
	b.sent = false
	if leave, ok := ev.(*metasim.Leave); ok && !b.gone[leave.Client] {
		b.gone[leave.Client] = true
		b.stale += b.owed[leave.Client]
		b.queued -= b.owed[leave.Client]
		delete(b.owed, leave.Client)
	}
	// Many leave at the end, and to look through all messages for each would take long: it is done when it frees half of them.
	if b.stale > b.queued {
		b.sweep()
	}
}

// sweep forgets what is queued for those who have left.
func (b *book) sweep() {
	b.stale = 0
	for first, p := range b.pages {
		for i, k := range p.messages {
			if k == nil {
				continue
			}
			k.copies = slices.DeleteFunc(k.copies, func(o owing) bool { return b.gone[o.to] })
			if len(k.copies) == 0 {
				b.forget(ref{first.from, first.seq + uint64(i)})
			}
		}
	}
}

func unknown(verb string, to metasim.ClientID, r ref) error {
	return fmt.Errorf("a record %s message %d of client %d for client %d, of which the journal does not know",
		verb, r.seq, r.from, to)
}
