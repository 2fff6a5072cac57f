package past

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"metasim/internal/foldhash"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/wire/session"
)

// A Reader reads what the journal of a run that goes on holds of one client, for its process that is started again: all of it, or what follows the
// last checkpoint that fits.
type Reader struct {
	id    metasim.ClientID
	open  func() (Source, error)
	kept  func() []*Kept
	unfit func(error)

	items  int // that a part holds
	opened bool
	tries  []*Kept // checkpoints that were not tried, the newest first
	reader Source

	begin *session.Saved // the checkpoint that is tried, or was found to fit; nil: none
	sent  uint64         // sends that were read
	sends uint64         // their hash
	given uint64         // the last delivery that was read
}

// NewReader reads what open opens: a part of the journal from its beginning. It may be opened several times.
func NewReader(id metasim.ClientID, open func() (Source, error)) *Reader {
	return &Reader{id: id, open: open, items: partItems}
}

// Parts says how many messages or authorizations the next parts hold, about: else it is 512.
func (p *Reader) Parts(items int) { p.items = items }

// From has the past begin at one of the checkpoints that kept returns, the newest first, where one fits. unfit is told of those that do not. The goroutine
// that calls Next calls both.
func (p *Reader) From(kept func() []*Kept, unfit func(error)) { p.kept, p.unfit = kept, unfit }

// How much a part holds, so that the client is never kept waiting for long, nor much memory is used.
const (
	partItems = 512
	partBytes = 1 << 20
)

// Next returns the next part, and whether it is the last.
func (p *Reader) Next() (part *session.Past, last bool, err error) {
	if !p.opened {
		p.opened = true
		if p.kept != nil {
			p.tries = p.kept()
		}
		return p.first()
	}
	part = &session.Past{Client: p.id}
	last, err = p.read(part)
	return part, last, err
}

// first returns the first part: with the newest checkpoint that fits, or that of all of the past.
func (p *Reader) first() (part *session.Past, last bool, err error) {
	for {
		if err := p.reopen(); err != nil {
			return nil, false, err
		}
		part = &session.Past{Client: p.id, Begin: p.begin}
		last, err = p.read(part)
		if p.begin == nil || err == nil && p.fits() {
			return part, last, err
		}
		p.unfit(fmt.Errorf("the checkpoint of client %d at %v is not used: %w; an older one is tried, or none is used", p.id, p.begin.Now, cmp.Or(err, errUnfit)))
		if err := p.reader.Close(); err != nil {
			return nil, false, err
		}
	}
}

var errUnfit = errors.New("the journal has other messages before it")

// reopen begins to read, for the next checkpoint that is to be tried.
func (p *Reader) reopen() (err error) {
	p.begin, p.sent, p.sends, p.given = nil, 0, foldhash.Seed, 0
	if len(p.tries) > 0 {
		p.begin, p.tries = &p.tries[0].Saved, p.tries[1:]
	}
	p.reader, err = p.open()
	return err
}

// reached reports whether all was read that comes before the checkpoint.
func (p *Reader) reached() bool {
	return p.begin == nil || p.sent >= p.begin.Sent && p.given >= p.begin.Acked
}

// fits reports whether the client had sent the same at the checkpoint.
func (p *Reader) fits() bool { return p.reached() && p.sends == p.begin.Sends }

// read adds what follows to a part, until it holds enough and the checkpoint is reached.
func (p *Reader) read(part *session.Past) (last bool, err error) {
	for bytes := 0; !p.reached() || part.Given.Len() < p.items && part.Sends.Len() < p.items && bytes < partBytes; {
		e, err := p.reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		}
		if p.begin != nil {
			p.skip(&e)
		}
		part.Observe(e.Event, e.Effects)
		bytes += payload(&e)
	}
	return false, nil
}

// skip removes from an entry what comes before the checkpoint.
func (p *Reader) skip(e *journal.Entry) {
	if send, ok := e.Event.(*metasim.Send); ok {
		if p.sent < p.begin.Sent {
			p.sends = foldhash.Word(p.sends, metasim.HashSend(send.Sent, send.Channel, send.Payload))
			e.Event = nil
		}
		p.sent++
	}
	var effects []metasim.Effect // those of e may be read again
	for _, effect := range e.Effects {
		switch effect := effect.(type) {
		case *metasim.Deliver:
			if p.given = effect.Number; p.given <= p.begin.Acked {
				continue
			}
		case *metasim.Authorize:
			if !p.begin.Now.Before(effect.Until) {
				continue
			}
		}
		effects = append(effects, effect)
	}
	e.Effects = effects
}

// payload returns how many bytes of payloads an entry adds to a part.
func payload(e *journal.Entry) (bytes int) {
	if send, ok := e.Event.(*metasim.Send); ok {
		bytes += len(send.Payload)
	}
	for _, effect := range e.Effects {
		if d, ok := effect.(*metasim.Deliver); ok {
			bytes += len(d.Message.Payload)
		}
	}
	return bytes
}

// Close closes the journal.
func (p *Reader) Close() error {
	if p.reader == nil {
		return nil
	}
	return p.reader.Close()
}
