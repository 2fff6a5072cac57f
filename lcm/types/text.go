package types

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
)

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

// appendText appends a string of a message, which may be any bytes.
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

// A floatForm is how floats of a size are laid out.
type floatForm struct {
	bits     int
	nan, inf uint64 // C's NAN and INFINITY
	sign     uint64
}

var (
	single = floatForm{32, 0x7fc00000, 0x7f800000, 1 << 31}
	double = floatForm{64, 0x7ff8000000000000, 0x7ff0000000000000, 1 << 63}
)

// value is the number that raw stands for. Only for numbers: it would change the bits of some NaNs.
func (f floatForm) value(raw uint64) float64 {
	if f.bits == 32 {
		return float64(math.Float32frombits(uint32(raw)))
	}
	return math.Float64frombits(raw)
}

// raw is the bits of a number.
func (f floatForm) raw(v float64) uint64 {
	if f.bits == 32 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// append writes a float or double, given by its bits.
func (f floatForm) append(b []byte, raw uint64) []byte {
	switch magnitude := raw &^ f.sign; {
	case raw == f.inf:
		return append(b, `"Infinity"`...)
	case magnitude == f.inf:
		return append(b, `"-Infinity"`...)
	case raw == f.nan:
		return append(b, `"NaN"`...)
	case magnitude > f.inf:
		b = append(b, `"NaN:`...)
		for shift := f.bits - 4; shift >= 0; shift -= 4 {
			b = append(b, "0123456789abcdef"[raw>>shift&15])
		}
		return append(b, '"')
	}
	v := f.value(raw)
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) { // as JavaScript does
		form = 'e'
	}
	return strconv.AppendFloat(b, v, form, -1, f.bits)
}

// parse is the inverse of append for what is not a number.
func (f floatForm) parse(s string) (raw uint64, ok bool) {
	switch s {
	case "Infinity":
		return f.inf, true
	case "-Infinity":
		return f.inf | f.sign, true
	case "NaN":
		return f.nan, true
	}
	if len(s) != len("NaN:")+f.bits/4 || s[:4] != "NaN:" {
		return 0, false
	}
	raw, err := strconv.ParseUint(s[4:], 16, f.bits)
	return raw, err == nil && raw&^f.sign > f.inf
}

func appendInt(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// appendBoolean writes what a byte says; C sends other bytes than 0 and 1, too.
func appendBoolean(b []byte, v int64) []byte {
	if v == 0 || v == 1 {
		return strconv.AppendBool(b, v == 1)
	}
	return appendInt(b, v)
}
