package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"metasim/metasim"
)

const (
	flushAt = 1 << 16 // bytes in the buffer at which it is written
	keepAt  = 1 << 20 // a buffer that grew larger than this, for a large payload, is given back
	splitAt = 1 << 20 // bytes of a record after which further effects go into a record of their own
)

// A Writer writes a journal. It is buffered, it is not safe for concurrent use, and its first error is every further
// one's: what follows a gap is worth nothing.
type Writer struct {
	w     io.Writer
	buf   []byte
	begun bool // there is a record that more effects can follow
	err   error
	done  int64              // bytes that were handed to w
	index *indexer           // nil where nobody wants an index
	save  func(*Index) error // takes it when all is written
}

// errClosed is what a closed writer says.
var errClosed = errors.New("journal: the journal is closed; write before Close")

// NewWriter returns a writer of a journal to w. If w is an io.Closer, it is the writer's from now on.
func NewWriter(w io.Writer) *Writer {
	buf := make([]byte, 0, 2*flushAt)
	return &Writer{w: w, buf: binary.LittleEndian.AppendUint32(append(buf, magic...), Version)}
}

// Observe writes what one Step (with its event) or one Settle (ev is nil) came to. A Settle without effects changed
// nothing, and is left out. Wall is the wall clock in nanoseconds since the run began. Nothing is kept of ev and
// effs.
func (w *Writer) Observe(wall int64, ev metasim.Event, effs []metasim.Effect) error {
	w.note(ev, effs)
	switch {
	case ev != nil:
		w.write(step, wall, ev, effs)
	case len(effs) > 0:
		w.write(settle, wall, nil, effs)
	}
	return w.err
}

// Event writes an event ahead of its Step, so that it is in the journal even if the Step never returns. Its Effects
// follow.
func (w *Writer) Event(wall int64, ev metasim.Event) error {
	if ev == nil && w.err == nil {
		w.err = errors.New("journal: there is no event to write; use Observe for the effects of a Settle")
	}
	w.note(ev, nil)
	w.write(step, wall, ev, nil)
	return w.err
}

// note indexes what is about to be written.
func (w *Writer) note(ev metasim.Event, effs []metasim.Effect) {
	if w.index != nil {
		w.index.observe(w.done+int64(len(w.buf)), ev, effs)
	}
}

// Effects writes effects of the Event, or of whatever else was written last.
func (w *Writer) Effects(wall int64, effs []metasim.Effect) error {
	if !w.begun && w.err == nil {
		w.err = errors.New("journal: effects of nothing; write their Event first, or use Observe")
	}
	if len(effs) > 0 {
		w.note(nil, effs)
		w.write(more, wall, nil, effs)
	}
	return w.err
}

// Flush hands what is buffered to the underlying writer. What was not flushed is lost when the process is killed.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("journal: writing: %w", err)
	}
	w.done += int64(len(w.buf))
	w.buf = w.buf[:0]
	if cap(w.buf) > keepAt {
		w.buf = make([]byte, 0, 2*flushAt)
	}
	return w.err
}

// Close flushes, and closes the underlying writer if that can be closed. The index, if there is to be one, is written
// last. It returns the first error of all.
func (w *Writer) Close() error {
	if errors.Is(w.err, errClosed) {
		return nil
	}
	err := w.Flush()
	w.err = errClosed
	if c, ok := w.w.(io.Closer); ok {
		if e := c.Close(); err == nil && e != nil {
			err = fmt.Errorf("journal: closing: %w", e)
		}
	}
	if err == nil && w.index != nil {
		err = w.save(w.index.finish(w.done))
	}
	return err
}

// write writes a record, and more of them if the effects are many.
func (w *Writer) write(kind byte, wall int64, ev metasim.Event, effs []metasim.Effect) {
	for first := true; w.err == nil && (first || len(effs) > 0); first = false {
		start := len(w.buf)
		w.buf = append(w.buf, 0, 0, 0, 0, 0, 0, 0, 0, varintTag(recordKind), kind) // the frame is sealed last
		w.buf = appendVarint(w.buf, recordWall, uint64(wall))
		if ev != nil {
			w.buf, w.err = appendEvent(w.buf, ev)
		}
		for len(effs) > 0 && len(w.buf)-start < splitAt && w.err == nil {
			w.buf, w.err = appendEffect(w.buf, effs[0])
			effs = effs[1:]
		}
		w.seal(start)
		kind, ev = more, nil
	}
}

// seal completes the record that begins at start with its length and checksum, or drops it after an error.
func (w *Writer) seal(start int) {
	body := w.buf[start+frameSize:]
	if len(body) > MaxRecord && w.err == nil {
		w.err = fmt.Errorf("journal: an event of %d bytes; at most %d can be written, so send less at once",
			len(body), MaxRecord)
	}
	if w.err != nil {
		w.buf = w.buf[:start]
		return
	}
	binary.LittleEndian.PutUint32(w.buf[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(w.buf[start+4:], crc32.Checksum(body, castagnoli))
	w.begun = true
	if len(w.buf) >= flushAt {
		w.err = w.Flush()
	}
}
