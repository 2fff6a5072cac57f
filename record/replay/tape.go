package replay

import (
	"cmp"
	"errors"
	"io"

	"metasim/internal/fifo"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/wire/session"
)

// A tape is what a journal holds for one client, read as far as it is needed: on one side what the client was given, on the
// other what it sent. It keeps what lies between the two: as much as the client was ahead then, and is ahead now.
type tape struct {
	run    *record.Run
	reader *record.Journal
	past   session.Past // as far as the tape was read, and it was not given and compared
	alone  bool         // the client is gone: what it was given is not kept
	whole  bool         // the journal was read to its end
	torn   error        // the *journal.TornError at which the journal breaks off
	wrong  error        // the *record.DigestError of a journal that is not that of its run

	// stepwise authorizes the client only up to the next instant at which it can act, so that it must write what it has sent before it
	// goes on. reached is how far it was authorized.
	stepwise bool
	reached  metasim.Instant
	end      *ending // nil while there may be more
}

// An ending is how the client's part ended then.
type ending struct {
	leave     *metasim.Leave // it left, saying this; nil otherwise
	lost      bool           // its connection was lost, and that is all that is known
	brokeRule bool           // it broke a rule with its last send
	evict     *metasim.Evict // it was told that it broke this rule; nil otherwise
	farewell  bool           // it was told that the run was over, with err
	err       error
	cutOff    bool   // the record ends before the part of the client did
	text      string // for a person
}

func newTape(r *record.Run, id metasim.ClientID) (*tape, error) {
	reader, err := r.OpenJournal()
	if err != nil {
		return nil, err
	}
	t := &tape{run: r, reader: reader, past: session.Past{Client: id}}
	for t.past.Joined == nil && t.end == nil {
		if err := t.advance(); err != nil {
			return nil, errors.Join(err, reader.Close())
		}
	}
	return t, nil
}

func (t *tape) close() { _ = t.reader.Close() } // a file that was only read

// send returns the next send, or nil if there is none at that instant: the client had gone on, or the tape ends. It may
// return a later send.
func (t *tape) send(at metasim.Instant) (*metasim.Send, error) {
	for t.past.Sends.Len() == 0 && t.end == nil && !at.Before(t.past.Clock) {
		if err := t.advance(); err != nil {
			return nil, err
		}
	}
	if t.past.Sends.Len() == 0 {
		return nil, nil
	}
	return *t.past.Sends.First(), nil
}

// drain reads to the end, and keeps nothing of what the client was given.
func (t *tape) drain() error {
	t.alone, t.past.Given = true, fifo.Queue[session.Given]{}
	for t.end == nil {
		if err := t.advance(); err != nil {
			return err
		}
	}
	return nil
}

// check reads the rest of the journal after the end of the client, and compares its digests with those of the run: the replay is worth
// nothing if the journal is not that of the run.
func (t *tape) check() error {
	for !t.whole && t.torn == nil {
		if err := t.advance(); err != nil {
			return err
		}
	}
	return t.wrong
}

// more returns the next step; false if there is none.
func (t *tape) more() (session.Given, bool, error) {
	for t.past.Given.Len() == 0 && t.end == nil {
		if err := t.advance(); err != nil {
			return session.Given{}, false, err
		}
	}
	switch {
	case t.past.Given.Len() == 0:
		return session.Given{}, false, nil
	case t.stepwise:
		s, err := t.part()
		return s, err == nil, err
	}
	return t.past.Given.Pop(), true, nil
}

// part returns the next step, but only up to the next instant at which the client can act: the due time of a message, or the time of its
// next send.
func (t *tape) part() (session.Given, error) {
	then, err := t.send(metasim.Infinity)
	if err != nil {
		return session.Given{}, err
	}
	next := t.past.Given.First()
	limit := next.Until
	if len(next.Messages) > 0 {
		limit = metasim.Earlier(limit, next.Messages[0].Message.Due.Add(0))
	}
	if then != nil && t.reached.Before(then.Sent.Add(0)) { // else the client has passed it
		limit = metasim.Earlier(limit, then.Sent.Add(0))
	}
	n := 0
	for n < len(next.Messages) && next.Messages[n].Message.Due.Before(limit) {
		n++
	}
	s := session.Given{Messages: next.Messages[:n], Until: limit}
	next.Messages = next.Messages[n:]
	if limit == next.Until {
		t.past.Given.Pop()
	}
	t.reached = metasim.Later(t.reached, limit)
	return s, nil
}

// advance reads one entry.
func (t *tape) advance() error {
	e, err := t.reader.Next()
	var wrong *record.DigestError
	switch {
	case errors.As(err, &wrong):
		t.end, t.wrong, t.whole = cmp.Or(t.end, t.over()), wrong, true
		return nil
	case errors.Is(err, io.EOF):
		t.end, t.whole = cmp.Or(t.end, t.over()), true
		return nil
	case errors.As(err, new(*journal.TornError)):
		t.torn = err
		t.end = cmp.Or(t.end, t.over())
		return nil
	case err != nil:
		return err
	}
	if t.end != nil {
		return nil
	}
	t.past.Observe(e.Event, e.Effects)
	if t.alone {
		t.past.Given = fifo.Queue[session.Given]{}
	}
	if ev, ok := e.Event.(*metasim.Leave); ok && ev.Client == t.past.Client {
		t.end = &ending{leave: ev, text: "it left"}
		if ev.Cut {
			t.end = &ending{lost: true, text: "its connection was lost, and the run went on without it"}
		}
	}
	for _, effect := range e.Effects {
		if evict, ok := effect.(*metasim.Evict); ok && evict.Client == t.past.Client {
			_, sent := e.Event.(*metasim.Send)
			t.end = &ending{brokeRule: sent, evict: evict, text: evict.Err.Error()}
		}
	}
	return nil
}

// over returns how the run ended for a client that was still there.
func (t *tape) over() *ending {
	m := t.run.Manifest
	switch {
	case t.run.Killed():
		return &ending{cutOff: true, text: "metasim was killed"}
	case t.torn != nil:
		return &ending{cutOff: true, text: "the record ends there"}
	case m.Lost == m.Clients[t.past.Client]:
		return &ending{lost: true, text: "its connection was lost, and the run failed"}
	case m.Error != "":
		return &ending{farewell: true, err: errors.New(m.Error), text: "the run failed: " + m.Error}
	}
	return &ending{farewell: true, text: "the run was over"}
}
