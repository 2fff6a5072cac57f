package export

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"metasim/internal/fifo"
	"metasim/internal/pq"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// minAdded is how many occurrences come at least before some are handed on.
const minAdded = 1 << 12

// walkJournal reads a journal to its end and calls each with everything of these kinds that occurred, in order: by instant; at one instant
// deliveries (by recipient, and for each in the order in which it gets them; what it does not handle comes last), then sends (by sender),
// then losses. The order and the occurrences depend on the simulation alone, not on when anything was written to the journal. For a run that
// was killed or failed this is true of what each client did, but not of how far it came.
//
// names are the clients of the run: a ClientID indexes them, and the reader lets no other one pass. An error of each ends the walk. Torn is
// the *[journal.TornError] at which the journal breaks off, if it does, or the *[record.DigestError] at its end.
//
// It needs memory for the messages in flight, and for how far the clients ran ahead of one another. It does not use the reader after it
// has returned.
func walkJournal(names []string, r entries, kinds kindSet, each func(*occurrence) error) (torn, err error) {
	w := newWalk(names, kinds, each)
	batches, stop := readAhead(r)
	defer stop()
	for b := range batches {
		for i := range b.entries {
			if err := w.take(&b.entries[i]); err != nil {
				return nil, err
			}
		}
		switch {
		case b.err == nil:
			continue
		case record.IsBeginning(b.err), errors.As(b.err, new(*record.DigestError)):
			torn = b.err
		case !errors.Is(b.err, io.EOF):
			return nil, b.err
		}
	}
	for i := range w.clients {
		w.clients[i].leave(kinds)
	}
	return torn, w.emit(metasim.Infinity, true)
}

// entries are a journal: a *[record.Journal] is one.
type entries interface {
	Next() (journal.Entry, error)
}

// A walk sorts a journal by simulated time. What one client does comes in order already, so each client has a few queues of what occurred to
// it, and a walk merges them, up to the horizon. The horizon is the least instant at which anything may still occur: a delivery of a message
// in flight, or a send (in the literature: global virtual time, GVT).
type walk struct {
	names    []string
	kinds    kindSet
	instants bool // of deliveries only the instants count, for the horizon
	each     func(*occurrence) error
	clients  []client
	added    int             // occurrences since the horizon was computed
	emitted  metasim.Instant // everything before it was emitted
	heads    pq.Queue[head]  // of the clients with anything before the horizon; empty but during emit
	now      []occurrence    // of one instant, during emit
	finished bool
}

// A head says when the next thing occurred to a client that was not emitted.
type head struct {
	at metasim.Instant
	of metasim.ClientID
}

func newWalk(names []string, kinds kindSet, each func(*occurrence) error) *walk {
	w := &walk{names: names, kinds: kinds, instants: !kinds.has(Delivered) && !kinds.has(Undelivered), each: each, clients: make([]client, len(names))}
	w.heads.Less = func(a, b *head) bool { return a.at.Before(b.at) || a.at == b.at && a.of < b.of }
	for i := range w.clients {
		w.clients[i].queue, w.clients[i].dues = newQueue(), newDues()
	}
	return w
}

func (w *walk) take(entry *journal.Entry) error {
	if w.finished {
		return nil // the run has ended
	}
	evicted := slices.ContainsFunc(entry.Effects, func(e metasim.Effect) bool { _, is := e.(*metasim.Evict); return is })
	if !evicted { // the dispatcher refused the event of a client that broke a rule
		if err := w.event(entry.Event); err != nil {
			return err
		}
	}
	for _, e := range entry.Effects {
		if err := w.effect(e); err != nil {
			return err
		}
	}
	if w.added < max(minAdded, 4*len(w.clients)) { // the horizon takes a look at every client
		return nil
	}
	horizon := metasim.Infinity
	for i := range w.clients {
		horizon = metasim.Earlier(horizon, w.clients[i].horizon())
	}
	return w.emit(horizon, false)
}

func (w *walk) event(ev metasim.Event) error {
	id, ok := metasim.ClientOf(ev)
	if !ok {
		return nil
	}
	c := &w.clients[id]
	switch ev := ev.(type) {
	case *metasim.Send:
		c.floor = metasim.Later(c.floor, ev.Sent)
		p := publish{seq: c.sends, channel: ev.Channel, sent: ev.Sent, payload: ev.Payload}
		c.sends++
		return put(w, id, &c.sent, Sent, ev.Sent, p)
	case *metasim.Promise:
		c.floor = metasim.Later(c.floor, ev.NoSendBefore)
	case *metasim.Advance:
		c.report(&ev.Report)
		return w.handled(id, ev.Acked)
	case *metasim.PollWait:
		c.report(&ev.Report)
		c.wait(ev)
		return w.handled(id, ev.Acked)
	case *metasim.Leave:
		if !ev.Cut {
			if err := w.handled(id, ev.Acked); err != nil {
				return err
			}
		}
		c.leave(w.kinds)
	}
	return nil
}

func (w *walk) effect(e metasim.Effect) error {
	switch e := e.(type) {
	case *metasim.Queue:
		m, c := e.Message, &w.clients[e.To]
		switch {
		case c.left && !w.kinds.has(Undelivered):
			return nil
		case c.left && m.Due.Before(w.emitted):
			return w.tooLate(m.From, m.Due)
		case w.instants:
			c.dues.Push(m.Due)
		default:
			c.queue.Push(m)
		}
	case *metasim.Lose:
		from := &w.clients[e.Message.From]
		return put(w, e.Message.From, &from.lost, Lost, e.Message.Sent, occurrence{Kind: Lost, To: e.To, Message: e.Message})
	case *metasim.Finish:
		w.finished = true
	}
	return nil
}

// handled takes the number of the last delivery that a client has handled.
func (w *walk) handled(id metasim.ClientID, acked uint64) error {
	c := &w.clients[id]
	for ; c.acked < acked; c.acked++ {
		if c.queue.Len()+c.dues.Len() == 0 {
			return fmt.Errorf("client %q handles delivery %d, but the journal has no such delivery; "+
				"metasim did not write it, or it was changed", w.names[id], acked)
		}
		if w.instants {
			c.dues.Pop()
			continue
		}
		m := c.queue.Pop()
		if err := put(w, m.From, &c.handled, Delivered, m.Due, m); err != nil {
			return err
		}
	}
	return nil
}

// put adds what occurred at an instant to those of its kind. from is who sent the message.
func put[T any](w *walk, from metasim.ClientID, s *series[T], kind Kind, at metasim.Instant, v T) error {
	if at.Before(w.emitted) || at.Before(s.last) {
		return w.tooLate(from, at)
	}
	s.last = at
	w.added++
	if w.kinds.has(kind) {
		s.all.Push(v)
	}
	return nil
}

func (w *walk) tooLate(from metasim.ClientID, at metasim.Instant) error {
	return fmt.Errorf("the journal has a message of %q at %v after all clients had promised that everything before %v was complete; "+
		"metasim did not write it, or it was changed", w.names[from], at, w.emitted)
}

// emit emits everything before an instant, or everything.
func (w *walk) emit(before metasim.Instant, all bool) error {
	w.added = 0
	if !all {
		w.emitted = metasim.Later(w.emitted, before)
	}
	next := func(id metasim.ClientID) {
		if at, any := w.clients[id].first(); any && (all || at.Before(before)) {
			w.heads.Push(head{at, id})
		}
	}
	for i := range w.clients {
		next(metasim.ClientID(i))
	}
	for w.heads.Len() > 0 {
		at := w.heads.First().at
		for w.heads.Len() > 0 && w.heads.First().at == at {
			id := w.heads.Pop().of
			w.now = w.clients[id].at(id, at, w.now)
			next(id)
		}
		slices.SortFunc(w.now, func(o, p occurrence) int { return o.compare(&p) })
		for i := range w.now {
			if err := w.each(&w.now[i]); err != nil {
				return err
			}
		}
		clear(w.now) // frees their payloads
		w.now = w.now[:0]
	}
	return nil
}

// A client is what the journal says of one client, up to the current entry, and what occurred to it that was not emitted.
type client struct {
	floor metasim.Instant // it sends nothing before, whatever is delivered
	next  metasim.Instant // nor before this, unless something is delivered
	acked uint64
	sends uint64
	queue pq.Queue[metasim.Message] // queued and not yet handled; what a client does not handle that has left has occurred
	dues  pq.Queue[metasim.Instant] // instead of queue, if of deliveries only the instants count
	left  bool

	handled series[metasim.Message]
	sent    series[publish]
	lost    series[occurrence] // what it sent
}

// A series has what occurred of one kind, in order.
type series[T any] struct {
	all  fifo.Queue[T]
	last metasim.Instant // when the last one of them occurred
}

// A publish is what is not known of a message that a client has sent.
type publish struct {
	seq     uint64
	channel string
	sent    metasim.Instant
	payload []byte
}

func newQueue() pq.Queue[metasim.Message] {
	return pq.Queue[metasim.Message]{Less: func(a, b *metasim.Message) bool { return a.Compare(b) < 0 }}
}

func newDues() pq.Queue[metasim.Instant] {
	return pq.Queue[metasim.Instant]{Less: func(a, b *metasim.Instant) bool { return a.Before(*b) }}
}

// leave takes that the client handles nothing more: not what is queued for it.
func (c *client) leave(kinds kindSet) {
	if c.left = true; !kinds.has(Undelivered) {
		c.queue, c.dues = newQueue(), newDues()
	}
}

// first returns when the next thing occurred that was not emitted; any is false if there is none.
func (c *client) first() (at metasim.Instant, any bool) {
	at = metasim.Infinity
	note := func(t metasim.Instant) { at, any = metasim.Earlier(at, t), true }
	if m := c.handled.all.First(); m != nil {
		note(m.Due)
	}
	if p := c.sent.all.First(); p != nil {
		note(p.sent)
	}
	if o := c.lost.all.First(); o != nil {
		note(o.Message.Sent)
	}
	if m := c.queue.First(); m != nil && c.left {
		note(m.Due)
	}
	return at, any
}

// at moves what occurred at an instant, which is that of first, to the end of a list.
func (c *client) at(id metasim.ClientID, at metasim.Instant, to []occurrence) []occurrence {
	for m := c.handled.all.First(); m != nil && m.Due == at; m = c.handled.all.First() {
		to = append(to, occurrence{Kind: Delivered, To: id, Message: c.handled.all.Pop()})
	}
	for m := c.queue.First(); m != nil && c.left && m.Due == at; m = c.queue.First() {
		to = append(to, occurrence{Kind: Undelivered, To: id, Message: c.queue.Pop()})
	}
	for p := c.sent.all.First(); p != nil && p.sent == at; p = c.sent.all.First() {
		to = append(to, occurrence{Kind: Sent, Message: metasim.Message{From: id, Seq: p.seq, Channel: p.channel, Sent: p.sent, Payload: p.payload}})
		c.sent.all.Drop(1)
	}
	for o := c.lost.all.First(); o != nil && o.Message.Sent == at; o = c.lost.all.First() {
		to = append(to, c.lost.all.Pop())
	}
	return to
}

// report takes the promises of a report, as the dispatcher does.
func (c *client) report(r *metasim.Report) {
	c.floor = metasim.Later(c.floor, metasim.Later(r.Now, r.NoSendBefore))
	c.next = metasim.Later(c.floor, r.NextEvent)
}

// wait takes what waiting promises: the client sends nothing before the instant it waits for, unless a message wakes it.
func (c *client) wait(ev *metasim.PollWait) {
	c.next = metasim.Later(c.next, ev.Want)
	if !ev.Messages {
		c.floor = metasim.Later(c.floor, ev.Want)
	}
}

// horizon returns the instant before which nothing more of this client occurs, unless another client sends earlier: it handles the next
// queued message, or it sends.
func (c *client) horizon() metasim.Instant {
	if c.left {
		return metasim.Infinity
	}
	sends := metasim.Later(c.floor, c.next)
	if m := c.queue.First(); m != nil {
		return metasim.Earlier(m.Due, sends)
	}
	if due := c.dues.First(); due != nil {
		return metasim.Earlier(*due, sends)
	}
	return sends
}

// batchSize is how many entries the reading goroutine hands over at once.
const batchSize = 512

// A batch has successive entries of a journal. In the last batch err says how the journal ended.
type batch struct {
	entries []journal.Entry
	err     error
}

// readAhead reads a journal in its own goroutine, because decoding is most of the work of an export. After stop the reader is not used
// any more.
func readAhead(r entries) (batches <-chan batch, stop func()) {
	out, quit := make(chan batch, 4), make(chan struct{})
	go func() {
		defer close(out)
		for {
			b := readBatch(r)
			select {
			case out <- b:
			case <-quit:
				return
			}
			if b.err != nil {
				return
			}
		}
	}()
	return out, func() {
		close(quit)
		for range out { // until the goroutine has closed it
		}
	}
}

func readBatch(r entries) batch {
	b := batch{entries: make([]journal.Entry, 0, batchSize)}
	for len(b.entries) < batchSize {
		var e journal.Entry
		if e, b.err = r.Next(); b.err != nil {
			break
		}
		b.entries = append(b.entries, e)
	}
	return b
}
