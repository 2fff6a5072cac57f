package replay

import (
	"errors"
	"io"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/wire/session"
)

// A Past reads what the journal of a run that goes on holds of one client, for its process that is started again.
type Past struct {
	dir     journal.Dir
	id      metasim.ClientID
	size    int64
	written func() error
	reader  *journal.Reader // nil before the first part
}

// NewPast reads the journal up to a size. That much is there when written returns.
func NewPast(dir journal.Dir, id metasim.ClientID, size int64, written func() error) *Past {
	return &Past{dir: dir, id: id, size: size, written: written}
}

// How much a part holds, so that the client is never kept waiting for long, nor much memory is used.
const (
	partItems = 512
	partBytes = 1 << 20
)

// Next returns the next part, and whether it is the last.
func (p *Past) Next() (part *session.Past, last bool, err error) {
	if p.reader == nil {
		if err := p.written(); err != nil {
			return nil, false, err
		}
		if p.reader, err = p.dir.OpenBeginning(p.size); err != nil {
			return nil, false, err
		}
	}
	part = &session.Past{Client: p.id}
	for bytes := 0; part.Given.Len() < partItems && part.Sends.Len() < partItems && bytes < partBytes; {
		e, err := p.reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return part, true, nil
		case err != nil:
			return nil, false, err
		}
		part.Observe(e.Event, e.Effects)
		bytes += p.payload(&e)
	}
	return part, false, nil
}

// payload returns how many bytes of payloads an entry adds to a part.
func (p *Past) payload(e *journal.Entry) (bytes int) {
	if send, ok := e.Event.(*metasim.Send); ok && send.Client == p.id {
		bytes += len(send.Payload)
	}
	for _, effect := range e.Effects {
		if d, ok := effect.(*metasim.Deliver); ok && d.To == p.id {
			bytes += len(d.Message.Payload)
		}
	}
	return bytes
}

// Close closes the journal.
func (p *Past) Close() error {
	if p.reader == nil {
		return nil
	}
	return p.reader.Close()
}
