package journal

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// fields walks the fields of one message:
//
//	for f := walk(body, &err); f.next(); {
//		switch f.num { ... }
//	}
//
// It is strict: what is not understood is an error, as a journal that is read in part would replay as another run.
// The first error ends this walk and those of the messages around it.
type fields struct {
	rest []byte
	err  *error
	num  protowire.Number
	typ  protowire.Type
	v    uint64 // of a varint
	raw  []byte // of anything with a length; it is part of the body
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

// unknown refuses the field.
func (f *fields) unknown(where string) {
	f.fail(fmt.Errorf("%s has a field %d, which is not known here; read the journal with the metasim that wrote it",
		where, f.num))
}

func (f *fields) fail(err error) {
	if *f.err == nil {
		*f.err = err
	}
}

// is checks the type of the field.
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

// limited returns a number that is at most limit.
func (f *fields) limited(limit uint64) uint64 {
	v := f.uint64()
	if v > limit {
		f.fail(fmt.Errorf("a number of a record is %d, but it is %d at most", v, limit))
		return 0
	}
	return v
}

func (f *fields) uint32() uint32           { return uint32(f.limited(math.MaxUint32)) }
func (f *fields) client() metasim.ClientID { return metasim.ClientID(f.uint32()) }
func (f *fields) int64() int64             { return int64(f.uint64()) }
func (f *fields) time() metasim.Time       { return metasim.Time(f.uint64()) }
func (f *fields) bool() bool               { return f.limited(1) == 1 }

// bytes returns what is in the field; it is valid as long as the body.
func (f *fields) bytes() []byte {
	if !f.is(protowire.BytesType) {
		return nil
	}
	return f.raw
}

// copied returns what is in the field, for ever; nil if that is nothing.
func (f *fields) copied() []byte {
	return append([]byte(nil), f.bytes()...)
}

func (f *fields) text() string { return string(f.bytes()) }

func (f *fields) instant() (i metasim.Instant) {
	for g := walk(f.bytes(), f.err); g.next(); {
		switch g.num {
		case 1:
			i.Time = g.time()
		case 2:
			i.Step = g.uint32()
		default:
			g.unknown("an Instant")
		}
	}
	return i
}
