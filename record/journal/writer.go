package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"metasim/metasim"
)

// splitAt is at how many bytes of a record further effects go into a record of their own.
const splitAt = 1 << 20

// A Writer writes a journal. It is buffered and not safe for concurrent use; what is in the buffer is lost if the process is killed: see
// Flush. Observe never waits for the disk: see Full. After an error every call fails with that error: what follows a gap cannot be replayed.
type Writer struct {
	w       io.Writer
	backlog *backlog // of w
	buf     []byte
	err     error
	done    int64              // bytes that were given to the backlog
	index   *indexer           // nil: no index
	save    func(*Index) error // writes the index when the journal is complete
}

// errClosed is the error of a closed writer.
var errClosed = errors.New("the journal is closed; write before Close")

// NewWriter returns a writer of a journal to w. If w is an io.Closer, Close closes it.
func NewWriter(w io.Writer) *Writer {
	buf := make([]byte, 0, leastBuffer)
	return &Writer{w: w, backlog: newBacklog(w), buf: binary.LittleEndian.AppendUint32(append(buf, magic...), version)}
}

// Observe writes one Step with its event, or one Settle, whose ev is nil. A Settle without effects changed nothing and is left out.
// wall is the wall clock in nanoseconds since the run began. The writer keeps nothing of ev and effs.
func (w *Writer) Observe(wall int64, ev metasim.Event, effs []metasim.Effect) error {
	if w.index != nil {
		w.index.observe(w.done+int64(len(w.buf)), ev, effs)
	}
	switch {
	case ev != nil:
		w.write(step, wall, ev, effs)
	case len(effs) > 0:
		w.write(settle, wall, nil, effs)
	}
	if w.err == nil {
		_, w.err = w.backlog.full()
	}
	return w.err
}

// Flush has what is in the buffer written. The next Observe returns an error, and Full does.
func (w *Writer) Flush() { _ = w.flush() } // which keeps the error

// Full reports whether more waits for the underlying writer than should: then nothing should be observed for a while. It returns the
// error with which that writer has failed. Any goroutine may call it.
func (w *Writer) Full() (bool, error) { return w.backlog.full() }

// Notify sets what is called, by another goroutine, each time that Full changes from true to false, or to an error. It is called before
// the first Observe.
func (w *Writer) Notify(changed func()) { w.backlog.changed = changed }

// flush gives the buffer to the backlog.
func (w *Writer) flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	w.done += int64(len(w.buf))
	w.buf, w.err = w.backlog.put(w.buf)
	return w.err
}

// Continue makes a journal that was reopened go on at an offset: what follows is cut off. missing are effects of the entry before that are not
// in it.
func (w *Writer) Continue(offset int64, missing []metasim.Effect) error {
	f, ok := w.w.(interface {
		io.Seeker
		Truncate(size int64) error
	})
	if !ok {
		return errors.New("only a journal in a file can be continued")
	}
	if offset < int64(headerSize) {
		offset = 0 // NewWriter has begun with a header
	} else {
		w.buf = w.buf[:0]
	}
	_, err := f.Seek(offset, io.SeekStart)
	if err = cmp.Or(f.Truncate(offset), err); err != nil {
		return fmt.Errorf("continuing the journal: %w", err)
	}
	w.done = offset
	w.backlog.written = offset
	if len(missing) > 0 {
		w.write(more, 0, nil, missing)
	}
	return w.err
}

// Mark gives all that was observed so far to the disk. It returns the length of the journal up to there, and what waits until that is written.
func (w *Writer) Mark() (size int64, written func() error) {
	err := w.flush()
	size = w.done
	return size, func() error { return cmp.Or(err, w.backlog.await(size)) }
}

// Commit gives all that was observed so far to the disk, and returns what waits until it has reached it. Where the underlying writer is no
// file, that is when it is written.
func (w *Writer) Commit() (reached func() error) {
	_, written := w.Mark()
	return func() error {
		if err := written(); err != nil {
			return err
		}
		f, ok := w.w.(interface{ Sync() error })
		if !ok {
			return nil
		}
		if err := f.Sync(); err != nil {
			return fmt.Errorf("the journal does not reach the disk: %w", err)
		}
		return nil
	}
}

// Close writes what is left, closes the underlying writer if it is an io.Closer, and then saves the index. It returns the first error.
// It waits for the disk.
func (w *Writer) Close() error {
	if errors.Is(w.err, errClosed) {
		return nil
	}
	err := w.flush()
	w.err = errClosed
	if e := w.backlog.drain(); err == nil {
		err = e
	}
	if c, ok := w.w.(io.Closer); ok {
		if e := c.Close(); err == nil && e != nil {
			err = fmt.Errorf("closing the journal: %w", e)
		}
	}
	if err == nil && w.index != nil {
		err = w.save(w.index.finish(w.done, w.backlog.sum))
	}
	return err
}

// write writes a record, and more of them if the effects are many.
func (w *Writer) write(kind byte, wall int64, ev metasim.Event, effs []metasim.Effect) {
	for first := true; w.err == nil && (first || len(effs) > 0); first = false {
		start := len(w.buf)
		w.buf = append(w.buf, 0, 0, 0, 0, 0, 0, 0, 0, varintTag(recordKind), kind) // seal fills in the frame
		w.buf = appendVarint(w.buf, recordWall, uint64(wall))
		if ev != nil {
			w.buf, w.err = appendEvent(w.buf, ev)
		}
		for len(effs) > 0 && len(w.buf)-start < splitAt && w.err == nil {
			w.buf, w.err = AppendEffect(w.buf, effs[0])
			effs = effs[1:]
		}
		w.seal(start)
		kind, ev = more, nil
	}
}

// seal completes the record that begins at start with its length and checksum, or drops it after an error.
func (w *Writer) seal(start int) {
	body := w.buf[start+frameSize:]
	if len(body) > maxRecord && w.err == nil {
		w.err = fmt.Errorf("an event has %d bytes, but a record of the journal has at most %d; send less at once", len(body), maxRecord)
	}
	if w.err != nil {
		w.buf = w.buf[:start]
		return
	}
	binary.LittleEndian.PutUint32(w.buf[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(w.buf[start+4:], crc32.Checksum(body, castagnoli))
	if len(w.buf) >= flushAt {
		w.err = w.flush()
	}
}
