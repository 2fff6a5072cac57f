package replay

import (
	"errors"
	"io"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/wire"
)

// A tape is what a journal holds for one client, read as far as it is needed: what the client was given on one side, what it
// sent on the other. What lies between the two is kept; that is as much as the client was ahead then, and is ahead now.
type tape struct {
	run    *record.Run
	reader *journal.Reader
	id     metasim.ClientID
	joined *metasim.Join // nil: it never joined
	given  []step        // not yet given again, in order
	sends  []*metasim.Send
	clock  metasim.Instant // how far the client has come, as far as the tape was read
	alone  bool            // nobody is there to be given anything
	end    *ending         // nil while there may be more
	torn   error           // the *journal.TornError at which the tape ends, if it does
}

// A step is what the client was given up to an authorization.
type step struct {
	messages []*metasim.Deliver
	until    metasim.Instant
}

// An ending is how the client's part ended then.
type ending struct {
	leave *metasim.Leave // it left, saying this; nil otherwise
	lost  bool           // its connection was lost, and that is all that is known
	cheat bool           // it broke a rule with its last send
	last  wire.Body      // what it was told last; nil where its connection ended without a word
	text  string         // for a person
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

// send returns the next send, or nil if there is none at that instant: the client had gone on, or the tape ends. What it
// sent later may be returned.
func (t *tape) send(at metasim.Instant) (*metasim.Send, error) {
	for len(t.sends) == 0 && t.end == nil && !at.Before(t.clock) {
		if err := t.advance(); err != nil {
			return nil, err
		}
	}
	if len(t.sends) == 0 {
		return nil, nil
	}
	return t.sends[0], nil
}

// drain reads to the end, for nobody.
func (t *tape) drain() error {
	t.alone, t.given = true, nil
	for t.end == nil {
		if err := t.advance(); err != nil {
			return err
		}
	}
	return nil
}

// pop takes the send that send has returned.
func (t *tape) pop() {
	t.sends[0] = nil
	t.sends = t.sends[1:]
}

// more returns the next step; false if there is none.
func (t *tape) more() (step, bool, error) {
	for len(t.given) == 0 && t.end == nil {
		if err := t.advance(); err != nil {
			return step{}, false, err
		}
	}
	if len(t.given) == 0 {
		return step{}, false, nil
	}
	s := t.given[0]
	t.given[0] = step{}
	t.given = t.given[1:]
	return s, true, nil
}

// advance reads one entry.
func (t *tape) advance() error {
	e, err := t.reader.Next()
	switch {
	case errors.Is(err, io.EOF):
		t.end = t.over()
		return nil
	case errors.As(err, new(*journal.TornError)):
		t.torn, t.end = err, &ending{text: "the record ends there"}
		return nil
	case err != nil:
		return err
	}
	if id, ok := journal.Speaker(e.Event); ok && id == t.id {
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
					t.given = append(t.given, s)
				}
				s = step{}
			}
		case *metasim.Evict:
			if effect.Client == t.id {
				text := effect.Err.Error()
				_, sent := e.Event.(*metasim.Send)
				t.end = &ending{cheat: sent, last: wire.Refuse{Reason: wire.RuleBroken, Text: text}, text: text}
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
		t.sends = append(t.sends, ev)
		t.clock = metasim.Later(t.clock, ev.Sent)
	case *metasim.Advance:
		t.clock = metasim.Later(t.clock, ev.Now)
	case *metasim.PollWait:
		t.clock = metasim.Later(t.clock, ev.Now)
	case *metasim.Leave:
		if ev.Cut {
			t.end = &ending{lost: true, text: "its connection was lost, and the run went on without it"}
		} else {
			t.end = &ending{leave: ev, last: wire.Goodbye{}, text: "it left"}
		}
	}
}

// over says how the run ended for a client that was still there.
func (t *tape) over() *ending {
	m := t.run.Manifest
	switch {
	case t.run.Killed():
		return &ending{text: "metasim was killed"}
	case m.Lost == m.Clients[t.id]:
		return &ending{lost: true, text: "its connection was lost, and the run failed"}
	case m.Error != "":
		text := "the run failed: " + m.Error
		return &ending{last: wire.Refuse{Reason: wire.RunFailed, Text: text}, text: text}
	}
	return &ending{last: wire.Refuse{Reason: wire.RunFailed, Text: "the run is over"}, text: "the run was over"}
}
