package types

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode is the inverse of [Type.AppendJSON]: it makes a message of type t, with its fingerprint, of a JSON object. Members
// may come in any order; each has to be there, and the sizes of arrays have to agree with the members that are their sizes.
func (t *Type) Encode(text []byte) ([]byte, error) {
	v, err := parseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	e := encoder{out: binary.BigEndian.AppendUint64(nil, t.Fingerprint)}
	if err := e.value(t, v); err != nil {
		err.within("%s", t.Name)
		return nil, fmt.Errorf("%s: %s", err.Path, err.What)
	}
	return e.out, nil
}

// An encoder writes a message.
type encoder struct {
	out    []byte
	counts []int64 // as in the decoder
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
		return mismatch("there is no member %q; remove it", t.unknown(object))
	}
	e.counts = e.counts[:base]
	e.depth--
	return nil
}

// unknown returns the first name, in order, that is no member.
func (t *Type) unknown(object map[string]any) string {
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

// agree compares the size of an array with the required one.
func agree(have, want int64, d Dim) *Error {
	switch {
	case have == want:
		return nil
	case d.Variable:
		return mismatch("it has %d elements, and %s says %d; make them agree", have, d.Text, want)
	}
	return mismatch("it has %d elements, and the type says %d", have, want)
}

// element appends m if it is no array, or one element of it.
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
	size := int(leastBytes[kind])
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

// raw returns the bits of a number.
func (f floatForm) raw(v float64) uint64 {
	if f.bits == 32 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
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

// maxNesting is how deep lists and objects may nest in a text.
const maxNesting = 5 * maxDepth

// parseJSON reads one JSON value as map[string]any, []any, string, json.Number, bool or nil. Unlike json.Unmarshal it
// refuses what it would have to change or drop: texts that are not UTF-8, and objects that have a name twice.
func parseJSON(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the JSON is not UTF-8; strings of other bytes are written {\"base64\": ...}")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something comes after it; give one value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the JSON is not good at byte %d: %w", d.InputOffset(), err)
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("it nests deeper than %d", maxNesting)
	}
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it ends too early")
	}
	switch {
	case err != nil:
		return nil, err
	case t == json.Delim('['):
		return parseList(d, depth+1)
	case t == json.Delim('{'):
		return parseObject(d, depth+1)
	}
	return t, nil
}

func parseList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := parseValue(d, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token() // the ]
	return list, err
}

func parseObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no name", key)
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("%q is there twice; remove one", name)
		}
		if object[name], err = parseValue(d, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token() // the }
	return object, err
}

// describe returns a value of the wrong kind for an error.
func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("the string %q", head(v))
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

// head shortens a string for an error.
func head(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
