package types

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Encode makes a message of type t, its fingerprint included, of a JSON object as [Type.AppendJSON] writes it. Members
// may come in any order; each has to be there, and the sizes of arrays have to agree with the members that size them.
// The error is an *[Error].
func (t *Type) Encode(text []byte) ([]byte, error) {
	v, err := parseJSON(text)
	if err != nil {
		return nil, &Error{Path: t.Name, Offset: -1, What: err.Error()}
	}
	e := encoder{out: binary.BigEndian.AppendUint64(nil, t.Fingerprint)}
	if err := e.value(t, v); err != nil {
		return nil, err.within("%s", t.Name)
	}
	return e.out, nil
}

// An encoder is on its way through a parsed text.
type encoder struct {
	out    []byte
	counts []int64 // as the decoder has them
	depth  int     // of structs
}

func mismatch(format string, args ...any) *Error {
	return &Error{Offset: -1, What: fmt.Sprintf(format, args...)}
}

// value appends a value of a declared type.
func (e *encoder) value(t *Type, v any) *Error {
	if t.Enum {
		return e.enum(t, v)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return mismatch("%s is no object; a struct is written {...}", describe(v))
	}
	if e.depth++; e.depth > maxDepth {
		return mismatch("structs are nested deeper than %d", maxDepth)
	}
	base := len(e.counts)
	for i := range t.Members {
		m := &t.Members[i]
		v, ok := object[m.Name]
		if !ok {
			return mismatch("the member %s is missing; add it", m.Name)
		}
		e.counts = append(e.counts, 0)
		if err := e.array(m, 0, base, v); err != nil {
			return err.within(".%s", m.Name)
		}
	}
	if len(object) > len(t.Members) {
		return mismatch("there is no member %q; remove it", t.stranger(object))
	}
	e.counts = e.counts[:base]
	e.depth--
	return nil
}

// stranger is the first name, in order, that is no member's.
func (t *Type) stranger(object map[string]any) string {
	names := map[string]bool{}
	for _, m := range t.Members {
		names[m.Name] = true
	}
	first, found := "", false
	for name := range object {
		if !names[name] && (!found || name < first) {
			first, found = name, true
		}
	}
	return first
}

func (e *encoder) enum(t *Type, v any) *Error {
	if name, ok := v.(string); ok {
		for _, named := range t.Values {
			if named.Name == name {
				e.integer(int64(named.Value), 4)
				return nil
			}
		}
		return mismatch("%s has no value %q", t.Name, name)
	}
	return e.number(v, Int32)
}

// array appends the dimensions of m from level on.
func (e *encoder) array(m *Member, level, base int, v any) *Error {
	if level == len(m.Dims) {
		return e.element(m, v)
	}
	dim := m.Dims[level]
	want := dim.Size
	if dim.Variable {
		want = e.counts[base+dim.SizedBy]
	}
	if m.Kind == Byte && level == len(m.Dims)-1 {
		b, err := fromBase64(v)
		if err != nil {
			return err
		}
		e.out = append(e.out, b...)
		return agree(int64(len(b)), want, dim)
	}
	list, ok := v.([]any)
	if !ok {
		return mismatch("%s is no list; an array is written [...]", describe(v))
	}
	if err := agree(int64(len(list)), want, dim); err != nil {
		return err
	}
	for i, v := range list {
		if err := e.array(m, level+1, base, v); err != nil {
			return err.within("[%d]", i)
		}
	}
	return nil
}

// agree compares the size of an array with what it has to be.
func agree(have, want int64, d Dim) *Error {
	switch {
	case have == want:
		return nil
	case d.Variable:
		return mismatch("it has %d elements, and %s says %d; make them agree", have, d.Text, want)
	}
	return mismatch("it has %d elements, and the type says %d", have, want)
}

// element appends one value of what m is or holds.
func (e *encoder) element(m *Member, v any) *Error {
	switch m.Kind {
	case Nested:
		return e.value(m.Type, v)
	case String:
		return e.text(v)
	case Float:
		return e.float(v, single)
	case Double:
		return e.float(v, double)
	case Boolean:
		if b, ok := v.(bool); ok {
			if b {
				e.integer(1, 1)
			} else {
				e.integer(0, 1)
			}
			return nil
		}
	}
	return e.number(v, m.Kind)
}

// number appends a whole number that fits its kind.
func (e *encoder) number(v any, kind Kind) *Error {
	n, ok := v.(json.Number)
	if !ok {
		return mismatch("%s is no %s", describe(v), kind)
	}
	size := int(kind.least())
	if kind == Byte {
		u, err := strconv.ParseUint(n.String(), 10, 8)
		if err != nil {
			return mismatch("%s is no byte; use 0 to 255", n)
		}
		e.integer(int64(u), 1)
		return nil
	}
	i, err := strconv.ParseInt(n.String(), 10, 8*size)
	if err != nil {
		return mismatch("%s is no %s; use a whole number that fits", n, kind)
	}
	if kind.integer() && len(e.counts) > 0 {
		e.counts[len(e.counts)-1] = i
	}
	e.integer(i, size)
	return nil
}

func (e *encoder) float(v any, form floatForm) *Error {
	var raw uint64
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(v.String(), form.bits)
		if err != nil {
			return mismatch("%s does not fit into %d bits; use a smaller number, or \"Infinity\"", v, form.bits)
		}
		raw = form.raw(f)
	case string:
		var ok bool
		if raw, ok = form.parse(v); !ok {
			return mismatch("%q is no number; beside numbers there are \"NaN\", \"Infinity\" and \"-Infinity\"", v)
		}
	default:
		return mismatch("%s is no number", describe(v))
	}
	e.integer(int64(raw), form.bits/8)
	return nil
}

func (e *encoder) text(v any) *Error {
	s, ok := v.(string)
	if object, isObject := v.(map[string]any); isObject && len(object) == 1 {
		if inner, has := object["base64"]; has {
			b, err := fromBase64(inner)
			if err != nil {
				return err
			}
			s, ok = string(b), true
		}
	}
	if !ok {
		return mismatch("%s is no string", describe(v))
	}
	e.integer(int64(len(s)+1), 4)
	e.out = append(append(e.out, s...), 0)
	return nil
}

func fromBase64(v any) ([]byte, *Error) {
	s, ok := v.(string)
	if !ok {
		return nil, mismatch("%s is no string in base64, as bytes are written", describe(v))
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, mismatch("%q is not base64", head(s))
	}
	return b, nil
}

// integer appends the low bytes of v.
func (e *encoder) integer(v int64, size int) {
	for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
		e.out = append(e.out, byte(v>>shift))
	}
}
