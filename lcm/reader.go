package lcm

import (
	"bufio"
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
	src     *bufio.Reader
	ahead   bytes.Buffer // was read and is not used up; grows with the bytes that come, not with a length that the log claims
	offset  int64        // of the first byte of ahead, in the log
	skipped int64
	err     error // the result of every further Next
}

// firstRead is how much is read at once: 64 KiB.
const firstRead = 1 << 16

// NewReader returns a reader of the log that r holds. It reads ahead: r need not be buffered.
func NewReader(r io.Reader) *Reader { return &Reader{src: bufio.NewReaderSize(r, firstRead)} }

// Skipped returns how many bytes were skipped so far because they are no event. It is 0 for a log without damage, also if
// the last event is torn.
func (r *Reader) Skipped() int64 { return r.skipped }

// Offset returns where in the log the next event is looked for: what is before it was returned or skipped.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next event; the caller may keep the payload. At the end it fails with io.EOF; if the log ends inside an
// event, first with a *[TornError] and then with io.EOF; and with the error of the source.
func (r *Reader) Next() (Event, error) {
	for r.err == nil {
		if ev, ok := r.try(); ok {
			return ev, nil
		}
	}
	if torn, ok := r.err.(*TornError); ok {
		r.err = io.EOF
		return Event{}, torn
	}
	return Event{}, r.err
}

// try returns the event at the start of ahead, or comes one step nearer to the next, or sets r.err.
func (r *Reader) try() (ev Event, ok bool) {
	b := r.look(headerSize)
	switch {
	case r.err != nil:
		return ev, false
	case len(b) == 0:
		r.err = io.EOF
		return ev, false
	case !startsEvent(b):
		r.skip(nextStart(b))
		return ev, false
	case len(b) < headerSize:
		r.torn(headerSize)
		return ev, false
	}
	h, possible := parseHeader(b)
	if !possible {
		r.skip(1)
		return ev, false
	}
	size := h.size()
	b = r.look(size + headerSize)
	switch {
	case r.err != nil:
		return ev, false
	case !whole(b, size):
		r.skip(1)
		return ev, false
	case len(b) < size:
		r.torn(size)
		return ev, false
	}
	ev = Event{Number: h.number, Time: h.time}
	ev.Channel = string(b[headerSize : headerSize+h.channel])
	ev.Payload = bytes.Clone(b[headerSize+h.channel : size])
	r.drop(size)
	return ev, true
}

// look returns at least the next n bytes, or all that are left of the log. It sets r.err if the source fails.
func (r *Reader) look(n int) []byte {
	for r.ahead.Len() < n {
		_, err := r.src.Peek(1)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.err = fmt.Errorf("read the log at byte %d: %w", r.offset, err)
			break
		}
		came, _ := r.src.Peek(r.src.Buffered()) // never fails: so many are there
		n, _ := r.ahead.Write(came)             // never fails
		_, _ = r.src.Discard(n)                 // likewise
	}
	return r.ahead.Bytes()
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
	r.ahead.Next(n)
}

// torn ends the log inside an event of want bytes.
func (r *Reader) torn(want int) {
	r.err = &TornError{Offset: r.offset, Have: int64(r.ahead.Len()), Want: int64(want)}
}

// startsEvent reports whether an event may begin at b: the magic, or as much of it as is there.
func startsEvent(b []byte) bool {
	return bytes.HasPrefix(b, []byte(Magic)) || bytes.HasPrefix([]byte(Magic), b)
}

// nextStart returns where in b an event may begin: at the first magic, or at a part of one at the end of b, or at len(b).
func nextStart(b []byte) int {
	if i := bytes.Index(b, []byte(Magic)); i >= 0 {
		return i
	}
	for i := max(0, len(b)-len(Magic)+1); i < len(b); i++ {
		if startsEvent(b[i:]) {
			return i
		}
	}
	return len(b)
}

// holdsEvent reports whether b has a magic with lengths within the limits, anywhere.
func holdsEvent(b []byte) bool {
	for {
		i := bytes.Index(b, []byte(Magic))
		if i < 0 || len(b)-i < headerSize {
			return false
		}
		if _, ok := parseHeader(b[i:]); ok {
			return true
		}
		b = b[i+1:]
	}
}
