package lcm

import (
	"bytes"
	"errors"
	"io"
)

// firstRead is the least size of a window, and how much is read at once: 64 KiB.
const firstRead = 1 << 16

// A window is the part of a log that is being looked at. It grows only as bytes really come, whatever a length in the
// log claims.
type window struct {
	src   io.Reader
	buf   []byte // what was read and not yet dropped
	start int    // buf[:start] was dropped
	ended bool   // src has no more
}

// bytes returns what is in the window.
func (w *window) bytes() []byte { return w.buf[w.start:] }

// drop forgets the first n bytes.
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

// room makes place for more. It moves what is kept only after it dropped as much, so that every byte is moved a
// bounded number of times.
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

// magicBytes is how every event begins.
const magicBytes = "\xed\xa1\xda\x01"

// startsEvent reports whether an event may begin at b: the magic, or as much of it as is there.
func startsEvent(b []byte) bool {
	return bytes.HasPrefix(b, []byte(magicBytes)) || bytes.HasPrefix([]byte(magicBytes), b)
}

// nextStart returns where in b an event may begin: the first magic, else a beginning of one at the end, else len(b).
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

// holdsEvent reports whether somewhere in b there is a magic with lengths that can be true.
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
