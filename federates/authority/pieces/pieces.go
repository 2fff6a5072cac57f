// Package pieces carries payloads over datagrams that are shorter: a payload is split, and put together again where it arrives. Datagrams may be lost, come
// twice, late and in any order: a payload arrives whole and once, or not at all.
//
// A piece is little-endian: session u64, number of the payload u32, index u16, how many pieces u16, and bytes. All pieces but the last are of one length.
// A sender that begins again has a greater session. All functions are pure.
package pieces

import (
	"encoding/binary"
	"fmt"
)

// headBytes is what a piece has beside its part of the payload.
const headBytes = 8 + 4 + 2 + 2

// MaxPieces is how many pieces a payload has at most.
const MaxPieces = 1 << 10

// window is how many payloads a receiver puts together at once; pieces of those before them are late.
const window = 64

// A Splitter splits what is sent to one receiver.
type Splitter struct {
	session uint64
	number  uint32
}

// NewSplitter returns a splitter. The session is greater than that of each splitter that the sender had before, as a time is.
func NewSplitter(session uint64) *Splitter { return &Splitter{session: session} }

// Again returns a splitter for a receiver that is to begin anew. A sender may have 65,535 of them, if the session of the first one has 0 in its last 16 bits.
func (s *Splitter) Again() *Splitter { return NewSplitter(s.session + 1) }

// A SizeError: a payload needs too many pieces. Nothing is sent of it.
type SizeError struct{ Bytes, Most int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("a payload of %d bytes needs more than %d pieces; send at most %d bytes", e.Bytes, MaxPieces, e.Most)
}

// Split returns the pieces of a payload, each of at most so many bytes, head included.
func (s *Splitter) Split(payload []byte, most int) (out [][]byte, err error) {
	room := most - headBytes
	if room < 1 || len(payload) > room*MaxPieces {
		return nil, &SizeError{len(payload), max(room, 0) * MaxPieces}
	}
	count := max((len(payload)+room-1)/room, 1)
	for i := range count {
		b := binary.LittleEndian.AppendUint64(make([]byte, 0, most), s.session)
		b = binary.LittleEndian.AppendUint32(b, s.number)
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
		b = binary.LittleEndian.AppendUint16(b, uint16(count))
		out = append(out, append(b, payload[min(i*room, len(payload)):min((i+1)*room, len(payload))]...))
	}
	s.number++
	return out, nil
}

// A Joiner puts together what one sender has split.
type Joiner struct {
	begun   bool
	session uint64
	newest  uint32 // the greatest number of a payload of which there was a piece
	slots   [window]slot
}

// A slot is a payload of which there are pieces.
type slot struct {
	number uint32
	used   bool
	done   bool
	parts  [][]byte
	left   int
}

// Session is that of the newest piece, without its last 16 bits, which say how often the sender has begun anew to this receiver; 0 and 0: there was no piece.
func (j *Joiner) Session() (session, again uint64) { return j.session &^ 0xffff, j.session & 0xffff }

// A LateError: a piece is of a payload that was put together, or is far older than the newest, or of a session that is over. It changes nothing.
type LateError struct{ Number, Newest uint32 }

func (e *LateError) Error() string {
	return fmt.Sprintf("a piece of payload %d comes late: %d is the newest", e.Number, e.Newest)
}

// A MalformedError: bytes are no piece, or say something else than another piece of the payload. They change nothing.
type MalformedError struct {
	Bytes int
	Why   string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("%d bytes are no piece: %s", e.Bytes, e.Why)
}

// Join takes a piece, which it keeps, and returns the payload when that is whole; nil: it is not.
func (j *Joiner) Join(b []byte) (payload []byte, err error) {
	if len(b) < headBytes {
		return nil, &MalformedError{len(b), fmt.Sprintf("its head has %d", headBytes)}
	}
	session, number := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	index, count := int(binary.LittleEndian.Uint16(b[12:])), int(binary.LittleEndian.Uint16(b[14:]))
	body := b[headBytes:]
	switch {
	case count == 0 || count > MaxPieces || index >= count:
		return nil, &MalformedError{len(b), fmt.Sprintf("it is piece %d of %d; at most %d are", index, count, MaxPieces)}
	case index < count-1 && len(body) == 0:
		return nil, &MalformedError{len(b), "it is empty, and not the last"}
	case j.begun && session < j.session, j.begun && session == j.session && int32(j.newest-number) >= window:
		return nil, &LateError{number, j.newest}
	}
	if !j.begun || session > j.session {
		*j = Joiner{begun: true, session: session, newest: number}
	}
	s := &j.slots[number%window]
	switch {
	case s.used && s.number == number && s.done:
		return nil, &LateError{number, j.newest}
	case s.used && s.number == number && len(s.parts) != count:
		return nil, &MalformedError{len(b), fmt.Sprintf("it is of %d, and another of its payload is of %d", count, len(s.parts))}
	case !s.used || s.number != number:
		*s = slot{number: number, used: true, parts: make([][]byte, count), left: count}
	}
	if int32(number-j.newest) > 0 {
		j.newest = number
	}
	if s.parts[index] != nil {
		return nil, nil // it comes twice
	}
	s.parts[index], s.left = body, s.left-1
	if s.left > 0 {
		return nil, nil
	}
	payload = []byte{}
	for _, part := range s.parts {
		payload = append(payload, part...)
	}
	s.parts, s.done = nil, true
	return payload, nil
}
