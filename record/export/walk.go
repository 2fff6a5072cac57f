package export

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"metasim/internal/pq"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// minBuffer is how many occurrences are buffered before the first are sorted.
const minBuffer = 1 << 12

// walkJournal reads a journal to its end and calls each with everything that occurred, in order: by instant; at one instant deliveries (by
// recipient, and for each in the order in which it gets them; what it does not handle comes last), then sends (by sender), then losses.
// The order and the occurrences depend on the simulation alone, not on when anything was written to the journal. For a run that was killed
// or failed this is true of what each client did, but not of how far it came.
//
// names are the clients of the run: a ClientID indexes them, and the reader lets no other one pass. An error of each ends the walk. Torn is
// the *[journal.TornError] at which the journal breaks off, if it does, or the *[record.DigestError] at its end.
//
// It needs memory for the messages in flight, and for how far the clients ran ahead of one another. It does not use the reader after it
// has returned.
func walkJournal(names []string, r entries, each func(*occurrence) error) (torn, err error) {
	w := newWalk(names, each)
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
		if err := w.leave(metasim.ClientID(i)); err != nil {
			return torn, err
		}
	}
	return torn, w.emit(metasim.Infinity, true)
}

// entries are a journal: a *[record.Journal] is one.
type entries interface {
	Next() (journal.Entry, error)
}

// A walk sorts a journal by simulated time. It buffers occurrences; whenever the buffer has doubled, everything before the horizon is
// sorted and emitted. The horizon is the least instant at which anything may still occur: a delivery of a message in flight, or a send
// (in the literature: global virtual time, GVT).
type walk struct {
	names    []string
	each     func(*occurrence) error
	clients  []client
	buffer   []occurrence
	limit    int             // length of buffer at which the horizon is computed
	emitted  metasim.Instant // everything before it was emitted
	finished bool
}

func newWalk(names []string, each func(*occurrence) error) *walk {
	w := &walk{names: names, each: each, clients: make([]client, len(names)), limit: minBuffer}
	for i := range w.clients {
		w.clients[i].queue = newQueue()
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
	if len(w.buffer) < w.limit {
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
		m := metasim.Message{From: id, Seq: c.sends, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload}
		c.sends++
		return w.add(&occurrence{Kind: Sent, Message: m})
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
		return w.leave(id)
	}
	return nil
}

// leave takes that a client handles nothing more: not what is queued for it.
func (w *walk) leave(id metasim.ClientID) error {
	c := &w.clients[id]
	for c.left = true; c.queue.Len() > 0; {
		if err := w.add(&occurrence{Kind: Undelivered, To: id, Message: c.queue.Pop()}); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) effect(e metasim.Effect) error {
	switch e := e.(type) {
	case *metasim.Queue:
		c := &w.clients[e.To]
		if c.left {
			return w.add(&occurrence{Kind: Undelivered, To: e.To, Message: e.Message})
		}
		c.queue.Push(e.Message)
	case *metasim.Lose:
		return w.add(&occurrence{Kind: Lost, To: e.To, Message: e.Message})
	case *metasim.Finish:
		w.finished = true
	}
	return nil
}

// handled takes the number of the last delivery that a client has handled.
func (w *walk) handled(id metasim.ClientID, acked uint64) error {
	c := &w.clients[id]
	for ; c.acked < acked; c.acked++ {
		if c.queue.Len() == 0 {
			return fmt.Errorf("client %q handles delivery %d, but the journal has no such delivery; "+
				"metasim did not write it, or it was changed", w.names[id], acked)
		}
		if err := w.add(&occurrence{Kind: Delivered, To: id, Message: c.queue.Pop()}); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) add(o *occurrence) error {
	if at := o.At(); at.Before(w.emitted) {
		return fmt.Errorf("the journal has a message of %q at %v after all clients had promised that everything before %v was complete; "+
			"metasim did not write it, or it was changed", w.names[o.Message.From], at, w.emitted)
	}
	w.buffer = append(w.buffer, *o)
	return nil
}

// emit emits everything before an instant, or everything.
func (w *walk) emit(before metasim.Instant, all bool) error {
	ready := len(w.buffer)
	if !all {
		ready = w.partition(before)
		w.emitted = metasim.Later(w.emitted, before)
	}
	slices.SortFunc(w.buffer[:ready], func(o, p occurrence) int { return o.compare(&p) })
	for i := range w.buffer[:ready] {
		if err := w.each(&w.buffer[i]); err != nil {
			return err
		}
	}
	w.buffer = slices.Delete(w.buffer, 0, ready) // frees their payloads
	w.limit = max(minBuffer, 2*len(w.buffer))
	return nil
}

// partition moves what is before an instant to the front. It returns how many there are.
func (w *walk) partition(before metasim.Instant) int {
	n := 0
	for i := range w.buffer {
		if w.buffer[i].At().Before(before) {
			w.buffer[n], w.buffer[i] = w.buffer[i], w.buffer[n]
			n++
		}
	}
	return n
}

// A client is what the journal says of one client, up to the current entry.
type client struct {
	floor metasim.Instant // it sends nothing before, whatever is delivered
	next  metasim.Instant // nor before this, unless something is delivered
	acked uint64
	sends uint64
	queue pq.Queue[metasim.Message] // queued and not yet handled
	left  bool
}

func newQueue() pq.Queue[metasim.Message] {
	return pq.Queue[metasim.Message]{Less: func(a, b *metasim.Message) bool { return a.Compare(b) < 0 }}
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
