package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// A Reader reads a journal, entry by entry. It keeps a payload until the last of its copies was delivered or lost or its recipient
// left: it needs as much memory as the dispatcher needed, however long the run is.
type Reader struct {
	src     io.Reader
	file    string // its path, if it is a file
	buf     *bufio.Reader
	body    []byte // of the record at offset
	size    int64  // of that record, with its frame
	unread  bool   // body begins the next entry
	offset  int64  // everything before it is good and was read
	records int64
	dec     decoder
	run     *checker          // of the run's clients; nil: any client may be there
	limit   *io.LimitedReader // of a journal that grows; else nil
	allowed int64             // the same: bytes from the beginning
	err     error
}

// Why a journal is torn that was not written to its end.
const (
	endsInHeader = "the file ends inside the header"
	endsInRecord = "the file ends inside a record"
)

// NewReader returns a reader of the journal of a run with these clients, each entry of which is what a dispatcher can have done. With
// nil it takes any entries. If r is an io.Closer, Close closes it.
func NewReader(r io.Reader, clients []string) *Reader {
	size := 1 << 16
	if b, ok := r.(interface{ Len() int }); ok { // it is in memory
		size = min(size, b.Len())
	}
	reader := &Reader{src: r, buf: bufio.NewReaderSize(r, size), dec: newDecoder()}
	if clients != nil {
		reader.run = newChecker(clients)
	}
	return reader
}

// Next returns the next entry. After the last one it fails with io.EOF; after the last good one of a journal that is damaged or was
// cut off, with a *[TornError]; at the start of another file, with [ErrNotJournal] or a *[VersionError]; at an entry with a client of
// another run, with [ErrForeign]. Every later call fails with the same error.
func (r *Reader) Next() (Entry, error) {
	if !r.unread {
		r.load()
	}
	if r.err != nil {
		return Entry{}, r.err
	}
	r.unread, r.dec.after, r.dec.recorded = false, 0, nil
	begin, records := r.offset, r.records
	var e Entry
	if err := r.decode(&e, false); err != nil {
		r.tear(err.Error())
		return Entry{}, r.err
	}
	for r.load(); r.err == nil; r.load() {
		if kindOf(r.body) != more {
			r.unread = true
			break
		}
		if err := r.decode(&e, true); err != nil {
			r.tear(err.Error())
		}
	}
	if !r.dec.inputs {
		r.dec.sent.endEntry(e.Event)
	}
	if r.run == nil {
		return e, nil
	}
	id, of := metasim.ClientOf(e.Event) // client 0 is not written
	if credit, is := e.Event.(*metasim.Credit); is {
		id, of = credit.Client, true
	}
	if r.dec.after > uint64(len(r.run.names)) || of && int(id) >= len(r.run.names) {
		r.err = ErrForeign
		return Entry{}, r.err
	}
	check := r.run.entry
	if r.dec.inputs {
		check = r.run.clock
	}
	if err := check(&e); err != nil {
		r.offset, r.records = begin, records
		r.tear(err.Error())
		return Entry{}, r.err
	}
	return e, nil
}

// Unfinished returns a *[TornError] if no entry so far was the end of the run, or if it was killed; else nil. It is for a reader that knows
// the clients, after its last entry.
func (r *Reader) Unfinished(killed bool) error {
	if r.run.finished && !killed {
		return nil
	}
	return &TornError{File: r.file, Offset: r.offset, Records: r.records}
}

// Offset returns up to which byte the journal was read and is good: the end of an entry, or of the header.
func (r *Reader) Offset() int64 { return r.offset }

// Records returns how many records were read and are good.
func (r *Reader) Records() int64 { return r.records }

// Close closes the underlying reader, if it is an io.Closer.
func (r *Reader) Close() error {
	if c, ok := r.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// decode adds the record in body to an entry.
func (r *Reader) decode(e *Entry, continues bool) error {
	if !continues && kindOf(r.body) == more {
		return errors.New("a record continues an entry, but there is none before it")
	}
	good, after := len(e.Effects), r.dec.after
	if err := r.dec.record(r.body, e); err != nil {
		e.Effects, r.dec.after = e.Effects[:good], after
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
		r.err = io.EOF // the file ends between two records
		return
	case err != nil:
		r.failed(err, endsInRecord)
		return
	}
	n := binary.LittleEndian.Uint32(frame[:])
	if n == 0 || n > maxRecord {
		r.tear(fmt.Sprintf("a record has %d bytes, but 1 to %d are allowed", n, maxRecord))
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

// header reads the header.
func (r *Reader) header() {
	b := make([]byte, headerSize)
	n, err := io.ReadFull(r.buf, b)
	if have := string(b[:min(n, len(magic))]); !strings.HasPrefix(magic, have) {
		r.err = ErrNotJournal
		return
	}
	if errors.Is(err, io.EOF) { // nothing of it was written: the run was killed at its very start
		r.tear("")
		return
	}
	if err != nil {
		r.failed(err, endsInHeader)
		return
	}
	if v := binary.LittleEndian.Uint32(b[len(magic):]); v != version {
		r.err = &VersionError{Version: v}
		return
	}
	r.offset = int64(headerSize)
}

// read reads n bytes into body, which grows only as bytes are read. It returns false after an error.
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
			r.failed(err, endsInRecord)
			return false
		}
	}
	return true
}

// failed sets err after an error of reading. At the end of the file the journal is torn.
func (r *Reader) failed(err error, atEnd string) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.tear(atEnd)
		return
	}
	r.err = fmt.Errorf("reading the journal at byte %d: %w", r.offset, err)
}

// tear sets err: the journal is torn at offset.
func (r *Reader) tear(reason string) {
	r.err = &TornError{File: r.file, Offset: r.offset, Records: r.records, Reason: reason}
}

// A Scanner reads what was sent and delivered in a part of a journal, from any record on. It keeps no messages, so that a delivery
// only names its send.
type Scanner struct {
	r      *Reader
	record Record
}

// A Record is what a Scanner returns of a record. It is valid until the next one is read.
type Record struct {
	Offset     int64         // of the record
	Event      metasim.Event // a Send or a Leave; nil for other events
	Deliveries []Delivery
}

// A Delivery is a Deliver without the content of its message.
type Delivery struct {
	To, From metasim.ClientID
	Seq      uint64
	Due      metasim.Instant
	Number   uint64 // counts the deliveries to To, from 1
}

// newScanner returns a scanner that begins at the record at an offset.
func newScanner(r *Reader, offset int64) (*Scanner, error) {
	if r.header(); r.err != nil {
		return nil, r.err
	}
	if err := r.seek(offset); err != nil {
		return nil, err
	}
	return &Scanner{r: r}, nil
}

// Next returns the next record. It fails as a Reader does.
func (s *Scanner) Next() (*Record, error) {
	s.r.load()
	if s.r.err != nil {
		return nil, s.r.err
	}
	s.record = Record{Offset: s.r.offset, Deliveries: s.record.Deliveries[:0]}
	if err := s.decode(s.r.body); err != nil {
		s.r.tear(err.Error())
		return nil, s.r.err
	}
	s.r.offset += s.r.size
	s.r.records++
	return &s.record, nil
}

// Close closes the file.
func (s *Scanner) Close() error { return s.r.Close() }

// decode reads sends, leaves and deliveries of a record.
func (s *Scanner) decode(body []byte) error {
	d := &s.r.dec
	d.err = nil
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case sendField, leaveField:
			s.record.Event = d.event(&f)
		case recordEffects:
			s.deliver(f.bytes())
		}
	}
	return d.err
}

// deliver reads an effect, if it is a Deliver.
func (s *Scanner) deliver(body []byte) {
	d := &s.r.dec
	if len(body) == 0 || body[0] != byte(protowire.EncodeTag(deliverField, protowire.BytesType)) {
		return
	}
	for f := walk(body, &d.err); f.next(); {
		var v Delivery
		d.fill(f.bytes(), "a Deliver", &v.To, &v.From, &v.Seq, &v.Due, &v.Number)
		s.record.Deliveries = append(s.record.Deliveries, v)
	}
}

// seek moves to a record.
func (r *Reader) seek(offset int64) error {
	file, ok := r.src.(io.Seeker)
	if !ok {
		return errors.New("a part of a journal can only be read from a file")
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("going to byte %d of the journal: %w", offset, err)
	}
	r.buf.Reset(r.src)
	r.offset, r.err = offset, nil
	return nil
}
