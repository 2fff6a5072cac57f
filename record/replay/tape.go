package replay

import (
	"cmp"
	"errors"
	"io"

	"metasim/internal/fifo"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// A tape is what a journal holds for one client, read as far as it is needed: on one side what the client was given, on the
// other what it sent. It keeps what lies between the two: as much as the client was ahead then, and is ahead now.
type tape struct {
	run    *record.Run
	reader *record.Journal
	id     metasim.ClientID
	joined *metasim.Join             // nil: it never joined
	given  fifo.Queue[step]          // not yet given again
	sends  fifo.Queue[*metasim.Send] // not yet compared
	clock  metasim.Instant           // how far the client has come, as far as the tape was read
	alone  bool                      // the client is gone: what it was given is not kept
	whole  bool                      // the journal was read to its end
	torn   error                     // the *journal.TornError at which the journal breaks off
	wrong  error                     // the *record.DigestError of a journal that is not that of its run

	// stepwise authorizes the client only up to the next instant at which it can act, so that it must write what it has sent before it
	// goes on. reached is how far it was authorized.
	stepwise bool
	reached  metasim.Instant
	end      *ending // nil while there may be more
}

// A step is what the client was given up to an authorization.
type step struct {
	messages []*metasim.Deliver
	until    metasim.Instant
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
	t := &tape{run: r, reader: reader, id: id}
	for t.joined == nil && t.end == nil {
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
	for t.sends.Len() == 0 && t.end == nil && !at.Before(t.clock) {
		if err := t.advance(); err != nil {
			return nil, err
		}
	}
	if t.sends.Len() == 0 {
		return nil, nil
	}
	return *t.sends.First(), nil
}

// drain reads to the end, and keeps nothing of what the client was given.
func (t *tape) drain() error {
	t.alone, t.given = true, fifo.Queue[step]{}
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
func (t *tape) more() (step, bool, error) {
	for t.given.Len() == 0 && t.end == nil {
		if err := t.advance(); err != nil {
			return step{}, false, err
		}
	}
	switch {
	case t.given.Len() == 0:
		return step{}, false, nil
	case t.stepwise:
		s, err := t.part()
		return s, err == nil, err
	}
	return t.given.Pop(), true, nil
}

// part returns the next step, but only up to the next instant at which the client can act: the due time of a message, or the time of its
// next send.
func (t *tape) part() (step, error) {
	then, err := t.send(metasim.Infinity)
	if err != nil {
		return step{}, err
	}
	next := t.given.First()
	limit := next.until
	if len(next.messages) > 0 {
		limit = metasim.Earlier(limit, next.messages[0].Message.Due.Add(0))
	}
	if then != nil && t.reached.Before(then.Sent.Add(0)) { // else the client has passed it
		limit = metasim.Earlier(limit, then.Sent.Add(0))
	}
	n := 0
	for n < len(next.messages) && next.messages[n].Message.Due.Before(limit) {
		n++
	}
	s := step{next.messages[:n], limit}
	next.messages = next.messages[n:]
	if limit == next.until {
		t.given.Pop()
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
	if id, ok := metasim.ClientOf(e.Event); ok && id == t.id {
		t.event(e.Event)
	}
	var s step
	for _, effect := range e.Effects {
		switch effect := effect.(type) {
		case *metasim.Deliver:
			if effect.To == t.id {
				s.messages = append(s.messages, effect)
			}
		case *metasim.Authorize:
			if effect.To == t.id {
				if s.until = effect.Until; !t.alone {
					t.given.Push(s)
				}
				s = step{}
			}
		case *metasim.Evict:
			if effect.Client == t.id {
				_, sent := e.Event.(*metasim.Send)
				t.end = &ending{brokeRule: sent, evict: effect, text: effect.Err.Error()}
			}
		}
	}
	return nil
}

func (t *tape) event(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Join:
		t.joined = ev
	case *metasim.Send:
		t.sends.Push(ev)
		t.clock = metasim.Later(t.clock, ev.Sent)
	case *metasim.Advance:
		t.clock = metasim.Later(t.clock, ev.Now)
	case *metasim.PollWait:
		t.clock = metasim.Later(t.clock, ev.Now)
	case *metasim.Leave:
		if ev.Cut {
			t.end = &ending{lost: true, text: "its connection was lost, and the run went on without it"}
		} else {
			t.end = &ending{leave: ev, text: "it left"}
		}
	}
}

// over returns how the run ended for a client that was still there.
func (t *tape) over() *ending {
	m := t.run.Manifest
	switch {
	case t.run.Killed():
		return &ending{cutOff: true, text: "metasim was killed"}
	case t.torn != nil:
		return &ending{cutOff: true, text: "the record ends there"}
	case m.Lost == m.Clients[t.id]:
		return &ending{lost: true, text: "its connection was lost, and the run failed"}
	case m.Error != "":
		return &ending{farewell: true, err: errors.New(m.Error), text: "the run failed: " + m.Error}
	}
	return &ending{farewell: true, text: "the run was over"}
}
