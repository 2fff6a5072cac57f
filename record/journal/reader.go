package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"

	"metasim/metasim"
)

// An Entry is what one call of the dispatcher came to.
type Entry struct {
	Wall    int64            // wall clock: nanoseconds since the run began
	Event   metasim.Event    // what was stepped; nil for a Settle
	Effects []metasim.Effect // what followed; the slice is the caller's, payloads are never to be changed
}

// A Reader reads a journal, entry by entry. It keeps a payload until the last of its copies was delivered or lost or
// its recipient left, so that what it holds is what the dispatcher held, whatever the length of the run.
type Reader struct {
	src     io.Reader
	buf     *bufio.Reader
	body    []byte // of the record at offset
	size    int64  // of that record, with its frame
	ahead   bool   // body begins the next entry
	offset  int64  // everything before it is good, and was read
	records int64
	dec     decoder
	clients uint64 // an entry with this client or a later one is foreign
	err     error
}

// NewReader returns a reader of the journal that r holds. If r is an io.Closer, it is the reader's from now on.
func NewReader(r io.Reader) *Reader {
	return &Reader{src: r, buf: bufio.NewReaderSize(r, 1<<16), dec: newDecoder(), clients: math.MaxUint64}
}

// Next returns the next entry. After the last it fails with io.EOF; after the last good one of a journal that is
// damaged or was cut off, with a *[TornError]; at the start of something else, with [ErrNotJournal] or a
// *[VersionError]. Every later call fails with the same error.
func (r *Reader) Next() (Entry, error) {
	if !r.ahead {
		r.load()
	}
	if r.err != nil {
		return Entry{}, r.err
	}
	r.ahead = false
	var e Entry
	if err := r.decode(&e, false); err != nil {
		r.tear(err.Error())
		return Entry{}, r.err
	}
	for r.load(); r.err == nil; r.load() {
		if kindOf(r.body) != more {
			r.ahead = true
			break
		}
		if err := r.decode(&e, true); err != nil {
			r.tear(err.Error())
		}
	}
	r.dec.book.shut(e.Event)
	if r.foreign(&e) {
		r.err = ErrForeign
		return Entry{}, r.err
	}
	return e, nil
}

// foreign reports whether an entry has a client that the run does not have.
func (r *Reader) foreign(e *Entry) bool {
	if id, ok := Speaker(e.Event); ok && uint64(id) >= r.clients {
		return true
	}
	for _, effect := range e.Effects {
		var id metasim.ClientID
		switch effect := effect.(type) {
		case *metasim.Queue:
			id = max(effect.To, effect.Message.From)
		case *metasim.Lose:
			id = max(effect.To, effect.Message.From)
		case *metasim.Deliver:
			id = max(effect.To, effect.Message.From)
		case *metasim.Authorize:
			id = effect.To
		case *metasim.Evict:
			id = effect.Client
		default:
			continue
		}
		if uint64(id) >= r.clients {
			return true
		}
	}
	return false
}

// Close closes the underlying reader if that can be closed.
func (r *Reader) Close() error {
	if c, ok := r.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// decode adds the loaded record to an entry.
func (r *Reader) decode(e *Entry, continues bool) error {
	if !continues && kindOf(r.body) == more {
		return errors.New("the record continues an entry, but none is open")
	}
	good := len(e.Effects)
	if err := r.dec.record(r.body, e); err != nil {
		e.Effects = e.Effects[:good]
		return err
	}
	r.offset += r.size
	r.records++
	return nil
}

// load reads the next record into body, or sets err.
func (r *Reader) load() {
	if r.err == nil && r.offset == 0 {
		r.header()
	}
	if r.err != nil {
		return
	}
	var frame [frameSize]byte
	switch _, err := io.ReadFull(r.buf, frame[:]); {
	case errors.Is(err, io.EOF):
		r.err = io.EOF // between two records: a clean end
		return
	case err != nil:
		r.failed(err, "the file ends inside a record")
		return
	}
	n := binary.LittleEndian.Uint32(frame[:])
	if n == 0 || n > MaxRecord {
		r.tear(fmt.Sprintf("a record of %d bytes, but one has 1 to %d", n, MaxRecord))
		return
	}
	if !r.read(int(n)) {
		return
	}
	if crc32.Checksum(r.body, castagnoli) != binary.LittleEndian.Uint32(frame[4:]) {
		r.tear("the checksum of a record is wrong")
		return
	}
	r.size = frameSize + int64(n)
}

// seek goes to a record.
func (r *Reader) seek(offset int64) error {
	file, ok := r.src.(io.Seeker)
	if !ok {
		return errors.New("journal: only in a file is there a way to a record")
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("journal: going to byte %d: %w", offset, err)
	}
	r.buf.Reset(r.src)
	r.offset, r.err = offset, nil
	return nil
}

// header reads how a journal begins.
func (r *Reader) header() {
	b := make([]byte, headerSize)
	n, err := io.ReadFull(r.buf, b)
	if have := string(b[:min(n, len(magic))]); !strings.HasPrefix(magic, have) {
		r.err = ErrNotJournal
		return
	}
	if err != nil {
		r.failed(err, "the file ends inside the header")
		return
	}
	if v := binary.LittleEndian.Uint32(b[len(magic):]); v != Version {
		r.err = &VersionError{Version: v}
		return
	}
	r.offset = int64(headerSize)
}

// read reads n bytes into body, which grows as bytes really come. It returns false after an error.
func (r *Reader) read(n int) bool {
	const atOnce = 1 << 16
	r.body = r.body[:0]
	for len(r.body) < n {
		if len(r.body) == cap(r.body) {
			r.body = append(make([]byte, 0, min(n, max(atOnce, 2*cap(r.body)))), r.body...)
		}
		have := len(r.body)
		r.body = r.body[:min(n, cap(r.body))]
		if _, err := io.ReadFull(r.buf, r.body[have:]); err != nil {
			r.failed(err, "the file ends inside a record")
			return false
		}
	}
	return true
}

// failed takes an error of reading: the end of the file tears the journal.
func (r *Reader) failed(err error, atEnd string) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.tear(atEnd)
		return
	}
	r.err = fmt.Errorf("journal: reading at byte %d: %w", r.offset, err)
}

// tear ends the journal at offset.
func (r *Reader) tear(reason string) {
	r.err = &TornError{Offset: r.offset, Records: r.records, Reason: reason}
}
