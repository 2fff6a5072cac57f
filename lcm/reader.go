package lcm

import (
	"bytes"
	"fmt"
	"io"
)

// A Reader reads a log, event by event. It holds one event at a time, and what was read ahead.
//
// Over damage it goes on as the stock tools do: it looks for the next magic with lengths that can be true. An event
// that is not followed by another one (or by the end) and holds the beginning of one has a wrong length, and is passed
// over up to there. As a log has no checksums, other damage to a payload, or a length that became too small, is not
// seen.
type Reader struct {
	win     window
	offset  int64 // of the window's first byte in the log
	skipped int64
	err     error // what every further Next returns
}

// NewReader returns a reader of the log that r holds. It reads ahead: r need not be buffered.
func NewReader(r io.Reader) *Reader { return &Reader{win: window{src: r}} }

// Skipped is how many bytes were passed over so far as they were no event. It is 0 for a log without damage; the
// bytes of a torn tail are not in it.
func (r *Reader) Skipped() int64 { return r.skipped }

// Next returns the next event; the payload is the caller's. At the end it fails with io.EOF; where the log ends
// inside an event, once with a *[TornError] and then with io.EOF; where reading fails, with that error.
func (r *Reader) Next() (Event, error) {
	for r.err == nil {
		ev, ok, err := r.try()
		if err != nil {
			r.err = fmt.Errorf("lcm: reading the log at byte %d: %w", r.offset, err)
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

// try returns the event at the window's start, or gets one step nearer to the next, or sets r.err at the end of the
// log. The error that it returns is of the source.
func (r *Reader) try() (ev Event, ok bool, err error) {
	if err := r.win.fill(headerSize); err != nil {
		return Event{}, false, err
	}
	b := r.win.bytes()
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
	if err := r.win.fill(size + headerSize); err != nil {
		return Event{}, false, err
	}
	b = r.win.bytes()
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

// whole reports whether the first size bytes of b, or all of them if it has less, can be one event: another one or
// the end follows, or at least no other one begins inside.
func whole(b []byte, size int) bool {
	if len(b) < size {
		return !holdsEvent(b[1:])
	}
	return startsEvent(b[size:]) || !holdsEvent(b[1:min(len(b), size+headerSize)])
}

// skip passes over n bytes of damage.
func (r *Reader) skip(n int) {
	r.skipped += int64(n)
	r.drop(n)
}

// drop passes over n bytes.
func (r *Reader) drop(n int) {
	r.offset += int64(n)
	r.win.drop(n)
}

// torn ends the log inside an event of want bytes.
func (r *Reader) torn(want int) {
	r.err = &TornError{Offset: r.offset, Have: int64(len(r.win.bytes())), Want: int64(want)}
}
