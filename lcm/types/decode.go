package types

import (
	"encoding/binary"
	"fmt"
)

const (
	// maxDepth is how deep structs may nest in a message. It keeps a hostile one from using up the stack.
	maxDepth = 1000
	// maxIdle is how many structs and elements of a message may take no bytes, as those of an empty struct do.
	maxIdle = 1 << 16
	// maxText bounds the JSON of one message: 1 GiB.
	maxText = 1 << 30
)

// AppendJSON decodes a message of type t, its fingerprint included, and appends it to dst as JSON. The whole payload has
// to be the message. Where it is not, the error is an *[Error] and dst is returned as it was.
//
// A hostile payload costs no more memory than the JSON of as many bytes: no length in it is believed before that many
// bytes are there.
func (t *Type) AppendJSON(dst, payload []byte) ([]byte, error) {
	d := decoder{payload: payload, out: dst, idle: maxIdle, most: len(dst) + maxText}
	if err := d.message(t); err != nil {
		return dst, err.within("%s", t.Name)
	}
	return d.out, nil
}

// A decoder is on its way through a payload.
type decoder struct {
	payload []byte
	at      int
	out     []byte
	most    int     // bytes of out
	counts  []int64 // the members of the structs around, in case they size arrays
	depth   int     // of structs
	idle    int     // how many things may still take no bytes
}

func (d *decoder) fail(format string, args ...any) *Error {
	return &Error{Offset: d.at, What: fmt.Sprintf(format, args...)}
}

func (d *decoder) left() int { return len(d.payload) - d.at }

func (d *decoder) message(t *Type) *Error {
	f, ok := FingerprintOf(d.payload)
	if !ok {
		return d.fail("%d bytes are no message, which has %d at least", len(d.payload), FingerprintSize)
	}
	if f != t.Fingerprint {
		return d.fail("the fingerprint is %016x, not %016x; this is another type, or another version of it", f, t.Fingerprint)
	}
	d.at = FingerprintSize
	if err := d.value(t); err != nil {
		return err
	}
	if d.left() > 0 {
		return d.fail("%d bytes come after the end of the message", d.left())
	}
	return nil
}

// value appends a value of a declared type.
func (d *decoder) value(t *Type) *Error {
	if int64(d.left()) < t.least {
		return d.fail("%d bytes are left, %s takes %d at least; the message is cut off", d.left(), t.Name, t.least)
	}
	if t.Enum {
		d.enum(t)
		return nil
	}
	if d.depth++; d.depth > maxDepth {
		return d.fail("structs are nested deeper than %d", maxDepth)
	}
	if t.least == 0 {
		if err := d.spend(1); err != nil {
			return err
		}
	}
	base := len(d.counts)
	d.out = append(d.out, '{')
	for i := range t.Members {
		m := &t.Members[i]
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.out = append(appendString(d.out, m.Name), ':')
		d.counts = append(d.counts, 0)
		if err := d.array(m, 0, base); err != nil {
			return err.within(".%s", m.Name)
		}
	}
	d.out = append(d.out, '}')
	d.counts = d.counts[:base]
	d.depth--
	return nil
}

// enum appends a value of an enum, which has the bytes.
func (d *decoder) enum(t *Type) {
	v := int32(d.integer(4))
	for _, named := range t.Values {
		if named.Value == v {
			d.out = appendString(d.out, named.Name)
			return
		}
	}
	d.out = appendInt(d.out, int64(v))
}

// spend counts things that take no bytes.
func (d *decoder) spend(n int64) *Error {
	if n > int64(d.idle) {
		return d.fail("the message says that there are more than %d things that take no bytes", maxIdle)
	}
	d.idle -= int(n)
	return nil
}

// array appends the dimensions of m from level on. The members of its struct are at base of d.counts.
func (d *decoder) array(m *Member, level, base int) *Error {
	if len(d.out) > d.most {
		return d.fail("the JSON of the message has more than %d bytes", maxText)
	}
	if level == len(m.Dims) {
		return d.element(m)
	}
	n, each := int64(0), m.least()
	for i := len(m.Dims) - 1; i >= level; i-- {
		if n = m.Dims[i].Size; m.Dims[i].Variable {
			n = d.counts[base+m.Dims[i].SizedBy]
		}
		if n < 0 {
			return d.fail("its size, %s, is %d", m.Dims[i].Text, n)
		}
		if i > level {
			each = product(each, n)
		}
	}
	if need := product(n, each); need > int64(d.left()) {
		return d.fail("%d elements take %d bytes at least, and %d are left; the message is cut off", n, need, d.left())
	}
	if each == 0 {
		if err := d.spend(n); err != nil {
			return err
		}
	}
	if m.Kind == Byte && level == len(m.Dims)-1 {
		d.out = appendBase64(d.out, d.take(int(n)))
		return nil
	}
	d.out = append(d.out, '[')
	for i := range n {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		if err := d.array(m, level+1, base); err != nil {
			return err.within("[%d]", i)
		}
	}
	d.out = append(d.out, ']')
	return nil
}

// element appends one value of what m is or holds.
func (d *decoder) element(m *Member) *Error {
	if m.Kind == Nested {
		return d.value(m.Type)
	}
	size := int(m.Kind.least())
	if d.left() < size {
		return d.fail("%d bytes are left, a %s takes %d at least; the message is cut off", d.left(), m.Kind, size)
	}
	switch m.Kind {
	case String:
		return d.text()
	case Float:
		d.out = single.append(d.out, uint64(uint32(d.integer(4))))
	case Double:
		d.out = double.append(d.out, uint64(d.integer(8)))
	case Byte:
		d.out = appendInt(d.out, int64(uint8(d.integer(1))))
	case Boolean:
		d.out = appendBoolean(d.out, d.integer(1))
	default:
		v := d.integer(size)
		d.counts[len(d.counts)-1] = v
		d.out = appendInt(d.out, v)
	}
	return nil
}

// text appends a string.
func (d *decoder) text() *Error {
	size := int64(int32(binary.BigEndian.Uint32(d.payload[d.at:])))
	if size < 1 {
		return d.fail("a string of %d bytes; it has 1 at least, for the NUL", size)
	}
	if size > int64(d.left()-4) {
		return d.fail("a string of %d bytes, and %d are left; the message is cut off", size, d.left()-4)
	}
	if d.payload[d.at+4+int(size)-1] != 0 {
		return d.fail("a string of %d bytes does not end in NUL", size)
	}
	d.take(4)
	s := d.take(int(size))
	d.out = appendText(d.out, s[:len(s)-1])
	return nil
}

// take passes over n bytes, which are there.
func (d *decoder) take(n int) []byte {
	b := d.payload[d.at : d.at+n]
	d.at += n
	return b
}

// integer takes a signed integer of size bytes, which are there.
func (d *decoder) integer(size int) int64 {
	b := d.take(size)
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v
}
