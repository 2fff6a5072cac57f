package types

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

const (
	// maxDepth is how deep structs may nest in a message. A hostile message could use up the stack.
	maxDepth = 1000
	// maxEmpty is how many structs and elements of a message may take no bytes, such as those of an empty struct.
	maxEmpty = 1 << 16
	// maxText is the longest JSON of one message: 1 GiB.
	maxText = 1 << 30
)

// AppendJSON decodes a message of type t, with its fingerprint, and appends it to dst as JSON. The whole payload has to be
// the message. If it is not, the error is an *[Error] and dst is returned as it was.
//
// A hostile payload costs no more memory than the JSON of as many bytes: a length in it counts only if so many bytes follow.
func (t *Type) AppendJSON(dst, payload []byte) ([]byte, error) {
	d := decoder{payload: payload, out: dst, empty: maxEmpty, most: len(dst) + maxText}
	if err := d.message(t); err != nil {
		return dst, err.within("%s", t.Name)
	}
	return d.out, nil
}

// A decoder reads a payload from its start to its end.
type decoder struct {
	payload []byte
	at      int
	out     []byte
	most    int     // bytes of out
	counts  []int64 // the integer members of the structs around, which may be sizes of arrays
	depth   int     // of structs
	empty   int     // how many structs and elements may still take no bytes
}

func (d *decoder) fail(format string, args ...any) *Error {
	return &Error{Offset: d.at, What: fmt.Sprintf(format, args...)}
}

func (d *decoder) left() int { return len(d.payload) - d.at }

func (d *decoder) message(t *Type) *Error {
	f, ok := FingerprintOf(d.payload)
	if !ok {
		return d.fail("%d bytes are no message, which has at least %d", len(d.payload), fingerprintSize)
	}
	if f != t.Fingerprint {
		return d.fail("the fingerprint is %016x, not %016x; this is another type, or another version of it", f, t.Fingerprint)
	}
	d.at = fingerprintSize
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
		return d.fail("%d bytes are left, and %s takes at least %d; the message is cut off", d.left(), t.Name, t.least)
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

// enum appends a value of an enum, for which there are enough bytes.
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

// spend counts structs and elements that take no bytes.
func (d *decoder) spend(n int64) *Error {
	if n > int64(d.empty) {
		return d.fail("the message claims more than %d structs and elements that take no bytes", maxEmpty)
	}
	d.empty -= int(n)
	return nil
}

// huge is the value at which sizes saturate.
const huge = math.MaxInt64

// product multiplies sizes, which are not negative, and saturates.
func product(a, b int64) int64 {
	if a > 0 && b > huge/a {
		return huge
	}
	return a * b
}

// array appends the dimensions of m from level on. The members of its struct begin at d.counts[base].
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
		return d.fail("%d elements take at least %d bytes, and %d are left; the message is cut off", n, need, d.left())
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

// element appends m if it is no array, or one element of it.
func (d *decoder) element(m *Member) *Error {
	if m.Kind == Nested {
		return d.value(m.Type)
	}
	size := int(leastBytes[m.Kind])
	if d.left() < size {
		return d.fail("%d bytes are left, and a %s takes at least %d; the message is cut off", d.left(), m.Kind, size)
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
		return d.fail("a string of %d bytes; it has at least 1, for the NUL", size)
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

// take returns the next n bytes, which must be there.
func (d *decoder) take(n int) []byte {
	b := d.payload[d.at : d.at+n]
	d.at += n
	return b
}

// integer returns the next signed integer of size bytes, which must be there.
func (d *decoder) integer(size int) int64 {
	b := d.take(size)
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v
}

// appendString appends a JSON string. s is UTF-8.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// appendText appends a string of a message, which may have any bytes.
func appendText(b, s []byte) []byte {
	if utf8.Valid(s) {
		return appendString(b, string(s))
	}
	b = append(b, `{"base64":`...)
	return append(appendBase64(b, s), '}')
}

func appendBase64(b, s []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, s)
	return append(b, '"')
}

// A floatForm is the format of floats of one size.
type floatForm struct {
	bits     int
	nan, inf uint64 // C's NAN and INFINITY
	sign     uint64
}

var (
	single = floatForm{32, 0x7fc00000, 0x7f800000, 1 << 31}
	double = floatForm{64, 0x7ff8000000000000, 0x7ff0000000000000, 1 << 63}
)

// append writes a float or double, given by its bits.
func (f floatForm) append(b []byte, raw uint64) []byte {
	switch magnitude := raw &^ f.sign; {
	case raw == f.inf:
		return append(b, `"Infinity"`...)
	case magnitude == f.inf:
		return append(b, `"-Infinity"`...)
	case raw == f.nan:
		return append(b, `"NaN"`...)
	case raw == f.sign: // readers of JSON in Python take -0 for an integer
		return append(b, "-0.0"...)
	case magnitude > f.inf:
		return fmt.Appendf(b, `"NaN:%0*x"`, f.bits/4, raw)
	}
	v := math.Float64frombits(raw)
	if f.bits == 32 {
		v = float64(math.Float32frombits(uint32(raw)))
	}
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) { // like JavaScript
		form = 'e'
	}
	return strconv.AppendFloat(b, v, form, -1, f.bits)
}

func appendInt(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// appendBoolean appends a boolean, or a number for a byte that is neither 0 nor 1: C can send it.
func appendBoolean(b []byte, v int64) []byte {
	if v == 0 || v == 1 {
		return strconv.AppendBool(b, v == 1)
	}
	return appendInt(b, v)
}
