package journal

import (
	"errors"
	"io"
)

// OpenGrowing opens the journal of a run that still goes on. Nothing is read of it before Extend. Close the reader to close the file.
func (d Dir) OpenGrowing() (*Reader, error) {
	f, err := d.open(journalFile)
	if err != nil {
		return nil, d.unopened(err)
	}
	limit := &io.LimitedReader{R: f}
	r := NewReader(beginning{limit, f}, nil)
	r.file, r.limit = f.Name(), limit
	return r, nil
}

// Extend lets a journal that grows be read up to a byte, the end of an entry: Next fails with io.EOF there.
func (r *Reader) Extend(size int64) {
	if more := size - r.allowed; more > 0 {
		r.limit.N += more
		r.allowed = size
		if errors.Is(r.err, io.EOF) {
			r.err = nil
		}
	}
}
