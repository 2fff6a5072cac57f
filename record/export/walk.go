package export

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
)

// An End says how a journal ended.
type End struct {
	// Finished: the run has ended, well or not. A run that was killed has not.
	Finished bool
	// Torn says where the journal breaks off, if it does; it is a *[journal.TornError]. What is before was walked.
	Torn error
}

// An OrderError tells that a journal has something out of order: it is none of metasim, or it was put together.
type OrderError struct {
	Client string // who sent or handled a message
	At     metasim.Instant
	Bound  metasim.Instant // everything before it was complete, by all that the clients had said
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("export: the journal has a message of %q at %v after all had promised to be done with everything before %v; "+
		"it was not written by metasim, or it was changed", e.Client, e.At, e.Bound)
}

// errForeign tells that a journal and a list of names are not of one run.
var errForeign = errors.New("export: the journal has a client that the manifest does not name; they are not of one run")

// window is how many occurrences are gathered before the first are put into order.
const window = 1 << 12

// Walk reads a journal to its end, and calls each with everything that occurred, in order: by instant; at one instant
// deliveries (by recipient, and for each in the order in which it gets them), then sends (by sender), then losses. The
// order, and whether there is an Occurrence at all, depend on the simulation alone, not on when anything reached the
// journal; of a run that was killed, or failed, that holds for what each client did, but not for how far it came.
//
// names are the clients of the run, in order: a ClientID indexes them. An error of each ends the walk.
//
// It holds what the run itself held (messages on their way), and how far the clients ran ahead of one another. The reader
// is the caller's again when it returns.
func Walk(names []string, r *journal.Reader, each func(*Occurrence) error) (End, error) {
	w := newWalk(names, each)
	batches, stop := readAhead(r)
	defer stop()
	for b := range batches {
		for i := range b.entries {
			if err := w.take(&b.entries[i]); err != nil {
				return w.end, err
			}
		}
		var torn *journal.TornError
		switch {
		case b.err == nil:
			continue
		case errors.As(b.err, &torn):
			w.end.Torn = torn
		case !errors.Is(b.err, io.EOF):
			return w.end, b.err
		}
	}
	return w.end, w.release(metasim.Infinity, true)
}

// A walk puts a journal into simulated order. What comes in is gathered; whenever that has doubled, everything before the
// horizon is sorted and handed on. The horizon is the least instant at which anything may still occur: of what is on its
// way and of what clients may still send, each of which takes effect later than its cause (the field calls it GVT).
type walk struct {
	names    []string
	each     func(*Occurrence) error
	clients  []client
	gathered []Occurrence
	limit    int             // of gathered, before the horizon is looked at
	done     metasim.Instant // everything before it was handed on
	end      End
}

func newWalk(names []string, each func(*Occurrence) error) *walk {
	return &walk{names: names, each: each, clients: make([]client, len(names)), limit: window}
}

func (w *walk) take(entry *journal.Entry) error {
	if w.end.Finished {
		return nil // nothing counts that follows the end of a run
	}
	evicted := slices.ContainsFunc(entry.Effects, func(e metasim.Effect) bool { _, is := e.(*metasim.Evict); return is })
	if !evicted { // who breaks a rule has not done what broke it
		if err := w.event(entry.Event); err != nil {
			return err
		}
	}
	for _, e := range entry.Effects {
		if err := w.effect(e); err != nil {
			return err
		}
	}
	if len(w.gathered) < w.limit {
		return nil
	}
	horizon := metasim.Infinity
	for i := range w.clients {
		horizon = metasim.Earlier(horizon, w.clients[i].horizon())
	}
	return w.release(horizon, false)
}

func (w *walk) event(ev metasim.Event) error {
	switch ev := ev.(type) {
	case *metasim.Send:
		c, err := w.client(ev.Client)
		if err != nil {
			return err
		}
		c.floor = metasim.Later(c.floor, ev.Sent)
		m := metasim.Message{From: ev.Client, Seq: c.sends, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload}
		c.sends++
		return w.gather(&Occurrence{Kind: Sent, Message: m})
	case *metasim.Promise:
		c, err := w.client(ev.Client)
		if err == nil {
			c.floor = metasim.Later(c.floor, ev.NoSendBefore)
		}
		return err
	case *metasim.Advance:
		_, err := w.report(ev.Client, &ev.Report)
		return err
	case *metasim.PollWait:
		c, err := w.report(ev.Client, &ev.Report)
		if err == nil {
			c.wait(ev)
		}
		return err
	case *metasim.Leave:
		c, err := w.client(ev.Client)
		if err == nil && !ev.Cut {
			err = w.handled(ev.Client, c, ev.Acked)
		}
		if err == nil {
			c.leave()
		}
		return err
	}
	return nil
}

func (w *walk) effect(e metasim.Effect) error {
	switch e := e.(type) {
	case *metasim.Queue:
		c, err := w.client(e.To)
		if err == nil && !c.gone {
			c.mail.push(&e.Message)
		}
		return err
	case *metasim.Lose:
		return w.gather(&Occurrence{Kind: Lost, To: e.To, Message: e.Message})
	case *metasim.Finish:
		w.end.Finished = true
	}
	return nil
}

func (w *walk) report(id metasim.ClientID, r *metasim.Report) (*client, error) {
	c, err := w.client(id)
	if err != nil {
		return nil, err
	}
	c.report(r)
	return c, w.handled(id, c, r.Acked)
}

// handled takes the number of the last delivery that a client has handled.
func (w *walk) handled(id metasim.ClientID, c *client, acked uint64) error {
	for ; c.acked < acked; c.acked++ {
		if len(c.mail) == 0 {
			return fmt.Errorf("export: the journal has client %q handle delivery %d, of which it does not know; "+
				"it was not written by metasim, or it was changed", w.names[id], acked)
		}
		if err := w.gather(&Occurrence{Kind: Delivered, To: id, Message: c.mail.pop()}); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) client(id metasim.ClientID) (*client, error) {
	if uint64(id) >= uint64(len(w.clients)) {
		return nil, errForeign
	}
	return &w.clients[id], nil
}

func (w *walk) gather(o *Occurrence) error {
	if max(o.To, o.Message.From) >= metasim.ClientID(len(w.names)) {
		return errForeign
	}
	if at := o.At(); at.Before(w.done) {
		return &OrderError{Client: w.names[o.Message.From], At: at, Bound: w.done}
	}
	w.gathered = append(w.gathered, *o)
	return nil
}

// release hands on everything before an instant, or all there is.
func (w *walk) release(before metasim.Instant, all bool) error {
	ready := len(w.gathered)
	if !all {
		ready = w.partition(before)
		w.done = metasim.Later(w.done, before)
	}
	slices.SortFunc(w.gathered[:ready], func(o, p Occurrence) int { return o.compare(&p) })
	for i := range w.gathered[:ready] {
		if err := w.each(&w.gathered[i]); err != nil {
			return err
		}
	}
	w.gathered = slices.Delete(w.gathered, 0, ready) // clears the rest, so that payloads can be freed
	w.limit = max(window, 2*len(w.gathered))
	return nil
}

// partition brings what is before an instant to the front, and returns how much that is.
func (w *walk) partition(before metasim.Instant) int {
	n := 0
	for i := range w.gathered {
		if w.gathered[i].At().Before(before) {
			w.gathered[n], w.gathered[i] = w.gathered[i], w.gathered[n]
			n++
		}
	}
	return n
}
