package wire

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"metasim/internal/slab"
	"metasim/metasim"
)

// A memory holds what outlives a frame: payloads, and names that come again and again.
//
// A payload outlives the frame by an unknown time. So one that is kept must keep little other memory alive, and is copied
// at most once (twice, for the part of a large frame that was read ahead, at most 64 KiB):
//
//   - A payload of at least half of a large frame is not copied: it keeps the frame, at most twice its own size.
//   - A payload of more than 1 KiB gets memory of its own.
//   - A smaller one shares a chunk of up to 4 KiB with those before and after it. The first chunks are smaller, as there
//     may be ten thousand connections with few payloads each.
type memory struct {
	names map[string]string

	small     slab.Bytes
	ownFrame  int  // the capacity of the frame, if payloads may keep it; otherwise 0
	gaveFrame bool // a payload keeps the frame
}

const (
	maxChunk = 4 << 10
	// maxKeptNames is how many names are kept. After that a new name is copied each time that it comes.
	maxKeptNames = 4096
)

// payload returns the bytes of a payload or a result in memory that stays valid. b is part of the frame. Empty: nil.
func (m *memory) payload(b []byte) []byte {
	if m.ownFrame > 0 && len(b) > 0 && 2*len(b) >= m.ownFrame {
		m.gaveFrame = true
		return b[:len(b):len(b)]
	}
	return m.small.Copy(b, maxChunk)
}

// name reads a name, and returns the one copy of it that the connection keeps.
func (m *memory) name(c *cursor) string {
	b := c.bytes()
	if kept, ok := m.names[string(b)]; ok {
		return kept
	}
	if !utf8.Valid(b) {
		c.fail(unreadable(c.message, fmt.Errorf("a name of %d bytes is no UTF-8", len(b))))
		return ""
	}
	s := string(b)
	if len(m.names) < maxKeptNames && len(s) <= MaxName {
		if m.names == nil {
			m.names = make(map[string]string)
		}
		m.names[s] = s
	}
	return s
}

// A repeatCache holds the last body of one kind and its bytes. When many members move in step, or nothing happens, the next
// body often has the same bytes and is not parsed again. A report may end with the work that the client did (computed and
// processor time); often everything before that is the same, and then only the work is parsed.
type repeatCache[T any] struct {
	lent  slab.Slab[T]
	known []byte // the bytes of the last body without its work; empty: none
	value T      // the last body, without its work
	at    *T     // a value that was lent since the last reclaim and is the same as value; nil: none
}

// maxRepeat is the size of the longest body that is cached: more than any without a payload has, unless it is padded.
const maxRepeat = 128

// maxLent is how many values a connection keeps memory for between two reads: there may be thousands of connections.
const maxLent = 1 << 10

// get returns the last body again when b has the same bytes, and decodes b otherwise. decode returns how many bytes come
// before the work, or 0 if the work does not come last. When only the work differs, get calls work with the rest of the
// bytes; work is nil for a kind without work.
func (l *repeatCache[T]) get(decode func(*T, []byte) (same int, err error), work func(*T, []byte) error, b []byte) (Body, error) {
	if n := len(l.known); n > 0 && bytes.HasPrefix(b, l.known) {
		if len(b) == n {
			if l.at == nil {
				l.at = l.lent.Lend()
				*l.at = l.value
			}
			return l.at, nil
		}
		if work != nil {
			v := l.lent.Lend()
			*v = l.value
			if work(v, b[n:]) == nil {
				return v, nil
			}
		}
	}
	v := l.lent.Lend()
	same, err := decode(v, b)
	if err != nil {
		return nil, err
	}
	if same <= maxRepeat {
		l.known, l.value, l.at = append(l.known[:0], b[:same]...), *v, v
		if same < len(b) {
			l.at = nil
			err = work(&l.value, nil)
		}
	}
	return v, err
}

func (l *repeatCache[T]) reclaim() {
	l.lent.ReclaimAtMost(maxLent)
	l.at = nil
}

// rawWork holds the work fields of a report as they came.
type rawWork struct {
	computed, cpu, coreWait uint64

	began bool
	same  int // how many bytes come before the work; 0: another field comes after it
}

// passed is called after each field. The fields with tag first and above are work.
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

func (w *rawWork) put(r *metasim.Report) {
	r.Computed, r.CPU, r.CoreWait = int64(w.computed), int64(w.cpu), int64(w.coreWait)
}

var errNoWork = errors.New("not a field of work")

// The fields of work have numbers that follow one another.
const nextTag = 1 << 3

// work sets the work of a report from the rest of its body, whose first field has the tag computed. It fails if another field is there.
func work(r *metasim.Report, b []byte, computed uint64) error {
	var w rawWork
	c := read(b, "Report")
	for c.more() {
		switch c.tag {
		case computed:
			w.computed = c.number()
		case computed + nextTag:
			w.cpu = c.number()
		case computed + 2*nextTag:
			w.coreWait = c.number()
		default:
			c.fail(errNoWork)
		}
	}
	w.put(r)
	c.fail(checkWork(r))
	return c.err
}
