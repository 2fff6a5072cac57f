package lcm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A Reader reads a log, event by event. It keeps one event and what it has read ahead in memory.
//
// After damage it goes on like the stock tools: it looks for the next magic with lengths within the limits. An event with
// neither another one nor the end behind it, and with the beginning of another one inside, has a wrong length; it is skipped
// up to that beginning. A log has no checksums, so other damage to a payload, or a length that is too small, is not found.
type Reader struct {
	ahead   window
	offset  int64 // of the first byte of ahead, in the log
	skipped int64
	err     error // the result of every further Next
}

// NewReader returns a reader of the log that r holds. It reads ahead: r need not be buffered.
func NewReader(r io.Reader) *Reader { return &Reader{ahead: window{src: r}} }

// Skipped returns how many bytes were skipped so far because they are no event. It is 0 for a log without damage, also if
// the last event is torn.
func (r *Reader) Skipped() int64 { return r.skipped }

// Next returns the next event; the caller may keep the payload. At the end it fails with io.EOF; if the log ends inside an
// event, first with a *[TornError] and then with io.EOF; and with the error of the source.
func (r *Reader) Next() (Event, error) {
	for r.err == nil {
		ev, ok, err := r.try()
		if err != nil {
			r.err = fmt.Errorf("read the log at byte %d: %w", r.offset, err)
			break
		}
		if ok {
			return ev, nil
		}
	}
	if torn, ok := r.err.(*TornError); ok {
		r.err = io.EOF
		return Event{}, torn
	}
	return Event{}, r.err
}

// try returns the event at the start of ahead, or comes one step nearer to the next, or sets r.err at the end of the log.
// The error that it returns is of the source.
func (r *Reader) try() (ev Event, ok bool, err error) {
	if err := r.ahead.fill(headerSize); err != nil {
		return Event{}, false, err
	}
	b := r.ahead.bytes()
	if len(b) == 0 {
		r.err = io.EOF
		return Event{}, false, nil
	}
	if !startsEvent(b) {
		r.skip(nextStart(b))
		return Event{}, false, nil
	}
	if len(b) < headerSize {
		r.torn(headerSize)
		return Event{}, false, nil
	}
	h, possible := parseHeader(b)
	if !possible {
		r.skip(1)
		return Event{}, false, nil
	}
	size := h.size()
	if err := r.ahead.fill(size + headerSize); err != nil {
		return Event{}, false, err
	}
	b = r.ahead.bytes()
	if !whole(b, size) {
		r.skip(1)
		return Event{}, false, nil
	}
	if len(b) < size {
		r.torn(size)
		return Event{}, false, nil
	}
	ev = Event{Number: h.number, Time: h.time}
	ev.Channel = string(b[headerSize : headerSize+h.channel])
	ev.Payload = bytes.Clone(b[headerSize+h.channel : size])
	r.drop(size)
	return ev, true, nil
}

// whole reports whether the first size bytes of b (or all bytes, if b is shorter) can be one event: another one or the end
// follows, or no other one begins inside.
func whole(b []byte, size int) bool {
	if len(b) < size {
		return !holdsEvent(b[1:])
	}
	return startsEvent(b[size:]) || !holdsEvent(b[1:min(len(b), size+headerSize)])
}

// skip drops n bytes of damage.
func (r *Reader) skip(n int) {
	r.skipped += int64(n)
	r.drop(n)
}

// drop moves on by n bytes.
func (r *Reader) drop(n int) {
	r.offset += int64(n)
	r.ahead.drop(n)
}

// torn ends the log inside an event of want bytes.
func (r *Reader) torn(want int) {
	r.err = &TornError{Offset: r.offset, Have: int64(len(r.ahead.bytes())), Want: int64(want)}
}

// firstRead is the least size of a window, and how much is read at once: 64 KiB.
const firstRead = 1 << 16

// A window is the part of a log that was read and is not used up. It grows with the bytes that come, not with a length that
// the log claims.
type window struct {
	src   io.Reader
	buf   []byte
	start int  // buf[:start] was dropped
	ended bool // src has no more
}

// bytes returns the content of the window.
func (w *window) bytes() []byte { return w.buf[w.start:] }

// drop removes the first n bytes.
func (w *window) drop(n int) { w.start += n }

// fill reads until the window has n bytes or the log ends. The error is of src, never io.EOF.
func (w *window) fill(n int) error {
	for idle := 0; len(w.buf)-w.start < n && !w.ended; {
		w.room()
		m, err := w.src.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+m]
		switch {
		case errors.Is(err, io.EOF):
			w.ended = true
		case err != nil:
			return err
		case m > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

// room makes room for more. It moves bytes only when at least as many were dropped, so that each byte is moved a bounded
// number of times.
func (w *window) room() {
	switch {
	case len(w.buf) < cap(w.buf):
	case w.start > 0 && w.start >= cap(w.buf)/2:
		w.buf = w.buf[:copy(w.buf, w.bytes())]
		w.start = 0
	default:
		grown := make([]byte, len(w.bytes()), max(firstRead, 2*cap(w.buf)))
		copy(grown, w.bytes())
		w.buf, w.start = grown, 0
	}
}

// startsEvent reports whether an event may begin at b: the magic, or as much of it as is there.
func startsEvent(b []byte) bool {
	return bytes.HasPrefix(b, []byte(magicBytes)) || bytes.HasPrefix([]byte(magicBytes), b)
}

// nextStart returns where in b an event may begin: at the first magic, or at a part of one at the end of b, or at len(b).
func nextStart(b []byte) int {
	if i := bytes.Index(b, []byte(magicBytes)); i >= 0 {
		return i
	}
	for i := max(0, len(b)-len(magicBytes)+1); i < len(b); i++ {
		if startsEvent(b[i:]) {
			return i
		}
	}
	return len(b)
}

// holdsEvent reports whether b has a magic with lengths within the limits, anywhere.
func holdsEvent(b []byte) bool {
	for {
		i := bytes.Index(b, []byte(magicBytes))
		if i < 0 || len(b)-i < headerSize {
			return false
		}
		if _, ok := parseHeader(b[i:]); ok {
			return true
		}
		b = b[i+1:]
	}
}
