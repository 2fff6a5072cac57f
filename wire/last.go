package wire

import (
	"bytes"
	"errors"

	"metasim/metasim"
)

// The last body of a kind, and the bytes that it came as. Where many members move in step, and where nothing happens,
// the next one is often the same: then it is not parsed again. Of a report that says how long the client worked all but
// that is often the same, and that comes last.
type last[T any] struct {
	lent  slab[T]
	known []byte // how the last one came, work left out; empty for none
	value T      // what it was
	at    *T     // where it lies; nil in a frame that did not have it yet
}

// or returns the last body once more, where it came as the same bytes, or decodes b. decode returns how many of the bytes
// are likely to come again, and all that follows them is work. It is not called where only the work differs: work sets that
// from what follows, and is nil where a body has none.
func (l *last[T]) or(decode func(*T, []byte) (same int, err error), work func(*T, []byte) error, b []byte) (Body, error) {
	if n := len(l.known); n > 0 && bytes.HasPrefix(b, l.known) {
		if len(b) == n {
			if l.at == nil {
				l.at = l.lent.lend()
				*l.at = l.value
			}
			return l.at, nil
		}
		if work != nil {
			v := l.lent.lend()
			*v = l.value
			if work(v, b[n:]) == nil {
				return v, nil
			}
		}
	}
	v := l.lent.lend()
	same, err := decode(v, b)
	if err != nil {
		return nil, err
	}
	if same <= maxShort {
		l.known, l.value, l.at = append(l.known[:0], b[:same]...), *v, v
		if same < len(b) {
			l.at = nil
			err = work(&l.value, nil)
		}
	}
	return v, err
}

func (l *last[T]) reclaim() {
	l.lent.reclaim()
	l.at = nil
}

// rawWork holds what a report says of the client's work, as it came.
type rawWork struct {
	computed, cpu uint64
	began         bool
	same          int // how many bytes come before it; 0 where it does not come last
}

// passed notes the field that was read. Those from tag first on are of work.
func (w *rawWork) passed(c *cursor, first uint64) {
	switch {
	case c.tag >= first:
		w.began = true
	case w.began:
		w.same = 0
	default:
		w.same = c.next
	}
}

func (w *rawWork) put(r *metasim.Report) { r.Computed, r.CPU = int64(w.computed), int64(w.cpu) }

var errNoWork = errors.New("these are other fields")

// work sets the work of a report from the fields that are left of its body. It fails where there are others.
func work(r *metasim.Report, b []byte, computed, cpu uint64) error {
	var w rawWork
	c := read(b, "Report")
	for c.more() {
		switch c.tag {
		case computed:
			w.computed = c.number()
		case cpu:
			w.cpu = c.number()
		default:
			c.fail(errNoWork)
		}
	}
	w.put(r)
	c.fail(checkWork(r))
	return c.err
}
