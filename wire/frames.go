package wire

import "metasim/internal/slab"

const (
	// leastLent is the size from which on the rest of a payload is not copied. Whoever gives a payload of this size to Append, or to a Write, has it in
	// memory of its own, which is not used again.
	leastLent = 128 << 10
	// copiedPart is how much of such a payload is copied: a write that carries the head of a message alone would wake the reader for nothing.
	copiedPart = 32 << 10
)

// Lent returns where the rest of a payload of this size begins, which is not copied but written by itself. 0: nothing is.
func Lent(size int) int {
	if size < leastLent {
		return 0
	}
	return copiedPart
}

// Frames are frames that wait to be written. The most of a large payload is not copied into them, and must not change before it is written: so a
// payload for many recipients is held once. The zero value is empty. It is not safe for concurrent use.
type Frames struct {
	copied []byte
	used   int    // the most bytes that were in copied since the last Reuse
	lent   []lent // in order
	size   int    // of the payloads in lent
}

// lent is the rest of a payload. It comes behind so many of the copied bytes.
type lent struct {
	behind int
	rest   []byte
}

// Len returns how many bytes wait.
func (f *Frames) Len() int { return len(f.copied) + f.size }

// Add adds bytes of frames that are encoded already.
func (f *Frames) Add(frames []byte) { f.set(append(f.copied, frames...)) }

func (f *Frames) set(copied []byte) { f.copied, f.used = copied, max(f.used, len(copied)) }

// Reuse empties the frames, and keeps their memory for the next ones: at least so many bytes, and nothing if it is more than most.
func (f *Frames) Reuse(use *slab.Use, least, most int) {
	copied := f.copied[:f.used]
	f.drop(len(f.lent))
	if *f = (Frames{lent: f.lent}); cap(copied) <= most {
		f.copied = slab.Reuse(copied, use, least)
	}
}

// A place is how far frames are written: the copied bytes and the payloads that are.
type place struct{ copied, lent int }

// part returns what comes next in one piece, and whether it is of a payload.
func (f *Frames) part(at place) (b []byte, lent bool) {
	switch {
	case at.lent == len(f.lent):
		return f.copied[at.copied:], false
	case at.copied < f.lent[at.lent].behind:
		return f.copied[at.copied:f.lent[at.lent].behind], false
	}
	return f.lent[at.lent].rest, true
}

// WriteAll writes all of the frames. Then, or after an error, only Reuse is called.
func (f *Frames) WriteAll(to interface{ WriteFrames([]byte) error }) error {
	for at := (place{}); ; {
		b, lent := f.part(at)
		if len(b) == 0 {
			return nil
		}
		if err := to.WriteFrames(b); err != nil {
			return err
		}
		if !lent {
			at.copied += len(b)
			continue
		}
		f.lent[at.lent].rest = nil // it may be large, and the memory of f stays
		at.lent++
	}
}

// TryWrite writes what the connection takes without waiting, and returns how much. The rest waits on.
func (f *Frames) TryWrite(to Prompt) (n int, err error) {
	if len(f.lent) == 0 { // mostly
		n, err = to.TryWriteFrames(f.copied)
		f.copied = f.copied[:copy(f.copied, f.copied[n:])]
		return n, err
	}
	var at place
	for err == nil {
		b, lent := f.part(at)
		if len(b) == 0 {
			break
		}
		var m int
		m, err = to.TryWriteFrames(b)
		n += m
		switch {
		case !lent:
			at.copied += m
		case m < len(b):
			f.lent[at.lent].rest = b[m:]
			f.size -= m
		default:
			f.size -= m
			at.lent++
		}
		if m < len(b) {
			break
		}
	}
	f.copied = f.copied[:copy(f.copied, f.copied[at.copied:])]
	f.drop(at.lent)
	for i := range f.lent {
		f.lent[i].behind -= at.copied
	}
	return n, err
}

// drop forgets the first n payloads.
func (f *Frames) drop(n int) {
	rest := f.lent[:copy(f.lent, f.lent[n:])]
	clear(f.lent[len(rest):])
	f.lent = rest
}
