package types

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fingerprinted is a message of type t, of these bytes.
func fingerprinted(t *Type, body ...byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, t.Fingerprint), body...)
}

// Every value that bytes can have is told by its JSON, and comes back from it.
func TestValues(t *testing.T) {
	s := parsed(t, `struct int8 { int8_t v; } struct int64 { int64_t v; } struct byt { byte v; } struct bytes { byte v[2][3]; }
		struct boo { boolean v; } struct flo { float v; } struct dou { double v; } struct str { string v; }
		enum color { RED, GREEN = -5 } struct col { color v; } struct none { } struct nones { none v[2]; }
		struct list { int16_t n; string v[n][1]; } struct sub { int8_t n; list v; int8_t w[n]; }`)
	for _, c := range []struct {
		typ  string
		body string
		json string
	}{
		{"int8", "\x80", "-128"},
		{"int64", "\x7f\xff\xff\xff\xff\xff\xff\xff", "9223372036854775807"},
		{"int64", "\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808"},
		{"byt", "\xff", "255"},
		{"bytes", "abcdef", `["YWJj","ZGVm"]`},
		{"boo", "\x00", "false"},
		{"boo", "\x01", "true"},
		{"boo", "\xff", "-1"},
		{"flo", "\x3d\xcc\xcc\xcd", "0.1"},
		{"flo", "\x80\x00\x00\x00", "-0.0"},
		{"flo", "\x7f\xc0\x00\x00", `"NaN"`},
		{"flo", "\x7f\x80\x00\x01", `"NaN:7f800001"`},
		{"flo", "\x7f\x80\x00\x00", `"Infinity"`},
		{"flo", "\x00\x00\x00\x01", "1e-45"},
		{"dou", "\x3f\xb9\x99\x99\x99\x99\x99\x9a", "0.1"},
		{"dou", "\x43\x30\x00\x00\x00\x00\x00\x01", "4503599627370497"},
		{"dou", "\x44\x4b\x1a\xe4\xd6\xe2\xef\x50", "1e+21"},
		{"dou", "\x3e\xb0\xc6\xf7\xa0\xb5\xed\x8d", "0.000001"},
		{"dou", "\xff\xf0\x00\x00\x00\x00\x00\x00", `"-Infinity"`},
		{"dou", "\x7f\xf8\x00\x00\x00\x00\x00\x00", `"NaN"`},
		{"dou", "\xff\xf8\x00\x00\x00\x00\x00\x00", `"NaN:fff8000000000000"`},
		{"str", "\x00\x00\x00\x01\x00", `""`},
		{"str", "\x00\x00\x00\x0a<\"\\\n\t\x00\x1b\x7f\x01\x00", `"<\"\\\n\t\u0000\u001b\u007f\u0001"`},
		{"str", "\x00\x00\x00\x03\xc3\xa9\x00", `"é"`},
		{"str", "\x00\x00\x00\x03a\xff\x00", `{"base64":"Yf8="}`},
		{"col", "\x00\x00\x00\x01", `"RED"`},
		{"col", "\xff\xff\xff\xfb", `"GREEN"`},
		{"col", "\x00\x00\x00\x02", `2`},
		{"nones", "", `[{},{}]`},
		{"sub", "\x02\x00\x01\x00\x00\x00\x02x\x00\x07\x08", `{"n":1,"v":[["x"]]}`},
	} {
		typ := s.Lookup(c.typ)
		payload := fingerprinted(typ, []byte(c.body)...)
		want := `{"v":` + c.json + `}`
		if c.typ == "sub" {
			want = `{"n":2,"v":` + c.json + `,"w":[7,8]}`
		}
		text, err := typ.AppendJSON(nil, payload)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
		again, err := typ.Encode(text)
		require.NoError(t, err, want)
		assert.Equal(t, payload, again)
	}
	color := s.Lookup("color")
	text, err := color.AppendJSON(nil, fingerprinted(color, 0, 0, 0, 1))
	require.NoError(t, err)
	require.Equal(t, `"RED"`, string(text), "an enum can be a message")
	again, err := color.Encode([]byte(" \"RED\"\n"))
	require.NoError(t, err)
	require.Equal(t, fingerprinted(color, 0, 0, 0, 1), again)
}

const lists = `package p; struct list_t { int32_t n; int64_t m; double v[n][m]; } struct text_t { string s; }
	struct none_t { } struct many_t { int64_t n; none_t v[n]; } struct wide_t { int32_t n; int32_t m; byte v[n][m]; }
	struct tree_t { int8_t n; tree_t kids[n]; } struct fix_t { double v[1000000][1000000][1000000]; }
	struct one_t { int8_t a, b; }`

// Lengths in a message may say anything.
func TestHostileMessages(t *testing.T) {
	s := parsed(t, lists)
	deep := strings.Repeat("\x01", maxDepth)
	for _, c := range []struct{ typ, body, want string }{
		{"list_t", "\x7f\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01", "p.list_t.v at byte 20: 2147483647 elements take at least 17179869176 bytes, and 0 are left; the message is cut off"},
		{"list_t", "\x00\x00\x00\x01\x7f\xff\xff\xff\xff\xff\xff\xff", "p.list_t.v at byte 20: 1 elements take at least 9223372036854775807 bytes, and 0 are left; the message is cut off"},
		{"list_t", "\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01", "p.list_t.v at byte 20: its size, n, is -1"},
		{"list_t", "\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff", "p.list_t.v at byte 20: its size, m, is -1"},
		{"list_t", "\x7f\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00", "p.list_t.v at byte 20: the message claims more than 65536 structs and elements that take no bytes"},
		{"wide_t", "\x7f\xff\xff\xff\x00\x00\x00\x00", "p.wide_t.v at byte 16: the message claims more than 65536 structs and elements that take no bytes"},
		{"many_t", "\x7f\xff\xff\xff\xff\xff\xff\xff", "p.many_t.v at byte 16: the message claims more than 65536 structs and elements that take no bytes"},
		{"text_t", "\x7f\xff\xff\xff\x00", "p.text_t.s at byte 8: a string of 2147483647 bytes, and 1 are left; the message is cut off"},
		{"text_t", "\xff\xff\xff\xff\x00", "p.text_t.s at byte 8: a string of -1 bytes; it has at least 1, for the NUL"},
		{"text_t", "\x00\x00\x00\x00\x00", "p.text_t.s at byte 8: a string of 0 bytes; it has at least 1, for the NUL"},
		{"text_t", "\x00\x00\x00\x01x", "p.text_t.s at byte 8: a string of 1 bytes does not end in NUL"},
		{"tree_t", "\x02\x01\x00\x05", "p.tree_t.kids[1].kids at byte 12: 5 elements take at least 5 bytes, and 0 are left; the message is cut off"},
		{"fix_t", "", "p.fix_t at byte 8: 0 bytes are left, and p.fix_t takes at least 8000000000000000000; the message is cut off"},
		{"one_t", "\x01\x02\x03", "p.one_t at byte 10: 1 bytes come after the end of the message"},
		{"tree_t", deep + "\x00", "p.tree_t" + strings.Repeat(".kids[0]", maxDepth) + " at byte 1008: structs are nested deeper than 1000"},
	} {
		typ := s.Lookup("p." + c.typ)
		_, err := typ.AppendJSON(nil, fingerprinted(typ, []byte(c.body)...))
		require.EqualError(t, err, c.want)
	}
	tree := s.Lookup("p.tree_t")
	_, err := tree.AppendJSON(nil, fingerprinted(tree, []byte(deep[1:]+"\x00")...))
	require.NoError(t, err, "this deep they may be")
	_, err = tree.AppendJSON(nil, []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x00"))
	require.ErrorContains(t, err, "p.tree_t at byte 0: the fingerprint is 0001020304050607, not "+fmt.Sprintf("%016x", tree.Fingerprint))
	var told *Error
	require.True(t, errors.As(err, &told))

	d := decoder{payload: fingerprinted(tree, 1, 1, 0), empty: 1, most: 10}
	require.ErrorContains(t, d.message(tree), "the JSON of the message has more than")
}

// What does not fit a type is refused with its place.
func TestBadTexts(t *testing.T) {
	s := parsed(t, lists+`struct all_t { int8_t i; byte b; boolean o; float f; double d; string s; byte bs[2]; int8_t l[2]; e_t e; one_t n; } enum e_t { A }`)
	const good = `{"i":1,"b":2,"o":true,"f":1.5,"d":2,"s":"x","bs":"AAA=","l":[1,2],"e":"A","n":{"a":1,"b":2}}`
	all := s.Lookup("p.all_t")
	_, err := all.Encode([]byte(good))
	require.NoError(t, err)
	for _, c := range []struct{ old, new, want string }{
		{`"i":1`, `"i":128`, `p.all_t.i: 128 is no int8_t; use a whole number that fits`},
		{`"i":1`, `"i":1.0`, `p.all_t.i: 1.0 is no int8_t; use a whole number that fits`},
		{`"i":1`, `"i":"1"`, `p.all_t.i: the string "1" is no int8_t`},
		{`"i":1`, `"i":null`, `p.all_t.i: null is no int8_t`},
		{`"i":1,`, ``, `p.all_t: the member i is missing; add it`},
		{`"i":1,`, `"i":1,"z":1,"y":1,`, `p.all_t: there is no member "y"; remove it`},
		{`"i":1,`, `"i":1,"i":1,`, `p.all_t: the JSON is not good at byte 10: "i" is there twice; remove one`},
		{`"b":2`, `"b":-1`, `p.all_t.b: -1 is no byte; use 0 to 255`},
		{`"o":true`, `"o":"yes"`, `p.all_t.o: the string "yes" is no boolean`},
		{`"f":1.5`, `"f":1e39`, `p.all_t.f: 1e39 does not fit into 32 bits; use a smaller number, or "Infinity"`},
		{`"f":1.5`, `"f":"nan"`, `p.all_t.f: "nan" is no number; beside numbers there are "NaN", "Infinity" and "-Infinity"`},
		{`"f":1.5`, `"f":"NaN:7f800000"`, `p.all_t.f: "NaN:7f800000" is no number; beside numbers there are "NaN", "Infinity" and "-Infinity"`},
		{`"d":2`, `"d":[]`, `p.all_t.d: a list is no number`},
		{`"s":"x"`, `"s":{"base64":"?"}`, `p.all_t.s: "?" is not base64`},
		{`"s":"x"`, `"s":{"base46":"AAA="}`, `p.all_t.s: an object is no string`},
		{`"bs":"AAA="`, `"bs":"AAAA"`, `p.all_t.bs: it has 3 elements, and the type says 2`},
		{`"bs":"AAA="`, `"bs":"AA\nA="`, `p.all_t.bs: "AA\nA=" is not base64`},
		{`"bs":"AAA="`, `"bs":[0,0]`, `p.all_t.bs: a list is no string in base64, as bytes are written`},
		{`"l":[1,2]`, `"l":[1,"2"]`, `p.all_t.l[1]: the string "2" is no int8_t`},
		{`"l":[1,2]`, `"l":{}`, `p.all_t.l: an object is no list; an array is written [...]`},
		{`"e":"A"`, `"e":"B"`, `p.all_t.e: p.e_t has no value "B"`},
		{`"n":{"a":1,"b":2}`, `"n":7`, `p.all_t.n: 7 is no object; a struct is written {...}`},
		{`"n":{"a":1,"b":2}`, `"n":{"a":1,"b":200}`, `p.all_t.n.b: 200 is no int8_t; use a whole number that fits`},
		{good, ``, `p.all_t: the JSON is not good at byte 0: it ends too early`},
		{good, good + `{}`, `p.all_t: the JSON is not good at byte 93: something comes after it; give one value`},
		{good, "\"\xff\"", `p.all_t: the JSON is not UTF-8; strings of other bytes are written {"base64": ...}`},
		{good, strings.Repeat("[", maxNesting+2), `p.all_t: the JSON is not good at byte 5001: it nests deeper than 5000`},
	} {
		_, err := all.Encode([]byte(strings.Replace(good, c.old, c.new, 1)))
		require.EqualError(t, err, c.want)
	}
	list := s.Lookup("p.list_t")
	_, err = list.Encode([]byte(`{"n":2,"m":1,"v":[[1]]}`))
	require.EqualError(t, err, "p.list_t.v: it has 1 elements, and n says 2; make them agree")
	_, err = list.Encode([]byte(`{"v":[[1],[2]],"n":2,"m":1}`))
	require.NoError(t, err, "in any order")
	tree := s.Lookup("p.tree_t")
	_, err = tree.Encode([]byte(strings.Repeat(`{"n":1,"kids":[`, maxDepth) + `{"n":0,"kids":[]}` + strings.Repeat(`]}`, maxDepth)))
	require.ErrorContains(t, err, "structs are nested deeper than 1000")
	wide := parsed(t, "struct leaf { } struct wide { int16_t n; leaf v[n]; }").Lookup("wide")
	_, err = wide.Encode([]byte(`{"n":2001,"v":[` + strings.Repeat("{},", 2000) + `{}]}`))
	require.NoError(t, err, "beside one another there may be more")
}
