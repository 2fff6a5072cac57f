package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// This file has the wire format of Protocol Buffers: what encode.go and decode.go are made of.
//
// All field numbers are below 16, so that a tag is one byte. A test reads every message with the generated code.

func varintTag(num protowire.Number) byte { return byte(num<<3) | byte(protowire.VarintType) }
func bytesTag(num protowire.Number) byte  { return byte(num<<3) | byte(protowire.BytesType) }

// begin begins a message as field num. What is appended from at on is its body; end completes it.
func begin(b []byte, num protowire.Number) (grown []byte, at int) {
	b = append(b, bytesTag(num), 0)
	return b, len(b)
}

// end writes the length of the message whose body begins at. One byte is reserved for it; only a longer length moves the body.
func end(b []byte, at int) []byte {
	if n := len(b) - at; n < 0x80 {
		b[at-1] = byte(n)
		return b
	}
	return endLong(b, at)
}

func endLong(b []byte, at int) []byte {
	n := len(b) - at
	extra := protowire.SizeVarint(uint64(n)) - 1
	b = append(b, make([]byte, extra)...)
	copy(b[at+extra:], b[at:at+n])
	protowire.AppendVarint(b[:at-1], uint64(n)) // in place
	return b
}

func appendVarint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return appendLong(append(b, varintTag(num)), v)
}

// appendLong appends a varint. Up to eight bytes are computed at once: the groups of seven bits are spread in halves, 28 bits to
// four bytes, 14 to two, 7 to one.
func appendLong(b []byte, v uint64) []byte {
	if v < 0x80 || v >= 1<<56 {
		return protowire.AppendVarint(b, v)
	}
	n := (bits.Len64(v|1) + 6) / 7
	v = v&0x000000000fffffff | v&0x00fffffff0000000<<4
	v = v&0x00003fff00003fff | v&0x0fffc0000fffc000<<2
	v = v&0x007f007f007f007f | v&0x3f803f803f803f80<<1
	v |= 0x8080808080808080 & (1<<(8*(n-1)) - 1)
	return binary.LittleEndian.AppendUint64(b, v)[:len(b)+n]
}

// infinity is the body of metasim.Infinity, which is frequent.
const infinity = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\xff\xff\xff\xff\x0f"

func appendInstant(b []byte, num protowire.Number, i metasim.Instant) []byte {
	switch i {
	case metasim.Start:
		return b
	case metasim.Infinity:
		return append(append(b, bytesTag(num), byte(len(infinity))), infinity...)
	}
	b = append(b, bytesTag(num), 0) // at most 17 bytes follow
	at := len(b)
	b = appendVarint(b, 1, uint64(i.Time))
	b = appendVarint(b, 2, uint64(i.Step))
	b[at-1] = byte(len(b) - at)
	return b
}

// fields walks the fields of one message:
//
//	for f := walk(body, &err); f.next(); {
//		switch f.num { ... }
//	}
//
// It is strict: what it does not understand is an error, because a journal that is read in part would replay as another run.
// The first error ends this walk and the walks of the messages around it.
type fields struct {
	rest []byte
	err  *error
	num  protowire.Number
	typ  protowire.Type
	v    uint64 // of a varint
	raw  []byte // of anything with a length; a part of the body
}

// walk begins to walk a message. The error is shared by all messages of a record.
func walk(body []byte, err *error) fields { return fields{rest: body, err: err} }

var errMalformed = errors.New("a record is malformed")

// next moves to the next field. It returns false at the end, and after an error.
func (f *fields) next() bool {
	if *f.err != nil || len(f.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		*f.err = errMalformed
		return false
	}
	f.rest, f.num, f.typ = f.rest[n:], num, typ
	switch typ {
	case protowire.VarintType:
		f.v, n = protowire.ConsumeVarint(f.rest)
	case protowire.BytesType:
		f.raw, n = protowire.ConsumeBytes(f.rest)
	default:
		n = -1
	}
	if n < 0 {
		*f.err = errMalformed
		return false
	}
	f.rest = f.rest[n:]
	return true
}

// unknown refuses a field of a message.
func (f *fields) unknown(where string) {
	f.fail(fmt.Errorf("%s has a field %d, which this metasim does not know; read the journal with the metasim that wrote it",
		where, f.num))
}

func (f *fields) fail(err error) {
	if *f.err == nil {
		*f.err = err
	}
}

// is checks the wire type of the field.
func (f *fields) is(typ protowire.Type) bool {
	if f.typ != typ {
		f.fail(errMalformed)
	}
	return f.typ == typ
}

func (f *fields) uint64() uint64 {
	if !f.is(protowire.VarintType) {
		return 0
	}
	return f.v
}

// limited returns a number, and refuses one above limit.
func (f *fields) limited(limit uint64) uint64 {
	v := f.uint64()
	if v > limit {
		f.fail(fmt.Errorf("a number of a record is %d, but at most %d is allowed", v, limit))
		return 0
	}
	return v
}

// bytes returns the content of the field; it is valid as long as the body.
func (f *fields) bytes() []byte {
	if !f.is(protowire.BytesType) {
		return nil
	}
	return f.raw
}

func (f *fields) instant() (i metasim.Instant) {
	for g := walk(f.bytes(), f.err); g.next(); {
		switch g.num {
		case 1:
			i.Time = metasim.Time(g.uint64())
		case 2:
			i.Step = uint32(g.limited(math.MaxUint32))
		default:
			g.unknown("an Instant")
		}
	}
	return i
}
