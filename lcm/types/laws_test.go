package types

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// back decodes a message and encodes it again, which has to give the same bytes. It returns the JSON.
func back(t require.TestingT, typ *Type, payload []byte) []byte {
	text, err := typ.AppendJSON(nil, payload)
	require.NoError(t, err)
	require.True(t, json.Valid(text), "%s", text)
	again, err := typ.Encode(text)
	require.NoError(t, err, "%s", text)
	require.Equal(t, payload, again, "%s", text)
	return text
}

// A message can be made of its JSON again, and each byte of it matters.
func TestMessagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := parsed(t, drawFile(t, rapid.Bool().Draw(t, "tangled")))
		typ := rapid.SampledFrom(s.Types()).Draw(t, "type")
		payload := drawMessage(t, typ)
		text := back(t, typ, payload)
		again, err := typ.AppendJSON([]byte("before "), payload)
		require.NoError(t, err)
		require.Equal(t, "before "+string(text), string(again))

		_, err = typ.AppendJSON(nil, payload[:rapid.IntRange(0, len(payload)-1).Draw(t, "cut")])
		require.Error(t, err)
		i := rapid.IntRange(fingerprintSize, len(payload)).Draw(t, "changed")
		if i == len(payload) {
			return
		}
		payload[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "how"))
		if _, err := typ.AppendJSON(nil, payload); err == nil {
			require.NotEqual(t, string(text), string(back(t, typ, payload)), "another message, another text")
		}
	})
}

// The formula of the fingerprint as it is defined, without optimization.
func dumbFingerprint(t *Type, parents []*Type) uint64 {
	if slices.Contains(parents, t) {
		return 0
	}
	update := func(v int64, c int8) int64 { return ((v << 8) ^ (v >> 55)) + int64(c) }
	str := func(v int64, s string) int64 {
		v = update(v, int8(len(s)))
		for _, c := range []byte(s) {
			v = update(v, int8(c))
		}
		return v
	}
	if t.Enum {
		return uint64(str(0x87654321, t.Name[strings.LastIndex(t.Name, ".")+1:]))
	}
	v := int64(0x12345678)
	sum := uint64(0)
	for _, m := range t.Members {
		v = str(v, m.Name)
		if m.Type == nil {
			v = str(v, m.Kind.String())
		} else {
			sum += dumbFingerprint(m.Type, append(slices.Clone(parents), t))
		}
		v = update(v, int8(len(m.Dims)))
		for _, d := range m.Dims {
			mode := map[bool]int8{false: 0, true: 1}[d.Variable]
			v = str(update(v, mode), d.Text)
		}
	}
	sum += uint64(v)
	return sum<<1 + sum>>63
}

func TestFingerprintsOfTangles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, typ := range parsed(t, drawFile(t, true)).Types() {
			require.Equal(t, dumbFingerprint(typ, nil), typ.Fingerprint, typ.Name)
		}
	})
}

func TestTypesOfOneFingerprint(t *testing.T) {
	s := parsed(t, "struct b { int8_t x; } package p; struct a { int8_t x; } struct c { int8_t y; }")
	var names []string
	for _, typ := range s.Of(fingerprinted(s.Lookup("b"), 1)) {
		names = append(names, typ.Name)
	}
	require.Equal(t, []string{"b", "p.a"}, names)
	require.Empty(t, s.Of(make([]byte, 8)))
	require.Empty(t, s.Of(make([]byte, 7)))
}

func FuzzParse(f *testing.F) {
	f.Add("package p; struct a { const int8_t X = -0x7f, Y=1; int32_t n; a b[n][0x2]; /* */ string s; } enum e { A, B=2; }")
	f.Add("struct a { b x; } struct b { a x; } // \xff")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := newSet(source{"f.lcm", []byte(text)})
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				require.Regexp(t, `^f\.lcm:\d+:\d+: .*; .*`, line)
			}
			return
		}
		for _, typ := range s.Types() {
			if payload := fingerprinted(typ, make([]byte, 100)...); typ.least <= 100 {
				if _, err := typ.AppendJSON(nil, payload[:fingerprintSize+typ.least]); err == nil {
					back(t, typ, payload[:fingerprintSize+typ.least])
				}
			}
		}
	})
}

func FuzzMessage(f *testing.F) {
	s := probe(f)
	for name := range said {
		f.Add(vector(f, name))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, typ := range s.Of(payload) {
			if _, err := typ.AppendJSON(nil, payload); err == nil {
				back(t, typ, payload)
			}
		}
	})
}
