package types

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// probe are types of our own and messages of them that lcm-gen's C code encoded.
func probe(t testing.TB) *Set {
	s, err := Load("testdata/probe")
	require.NoError(t, err)
	return s
}

// typed returns the type of a name in C: with _ for dots.
func typed(t testing.TB, s *Set, c string) *Type {
	for _, typ := range s.Types() {
		if strings.ReplaceAll(typ.Name, ".", "_") == c {
			return typ
		}
	}
	require.Fail(t, "no such type", c)
	return nil
}

func vector(t testing.TB, name string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", "probe", name+".bin"))
	require.NoError(t, err)
	return b
}

const reading = `{"utime":1234567890123456,"xyz":[1,-2.5,1e+300],"quat":[0.5,-0.5,0,1],"count":-2,"small":-300,` +
	`"tiny":-7,"raw":"AP8=","ok":true,"label":"café"}`

// What the messages say, as the program that made them has it.
var said = map[string]string{
	"probe_reading_t": reading,
	"probe_grid_t": `{"rows":2,"cols":3,"cell":[[1,2,3],[4,5,6]],"axis":[["x","","zz"],["1","22","333"]],"n":2,"readings":[` +
		reading + `,` + strings.NewReplacer("1234567890123456", "-1", "true", "false", "café", "").Replace(reading) +
		`],"limits":{"lo":-1.5,"hi":2.25}}`,
	"other_limits_t": `{"lo":-1.5,"hi":2.25}`,
	"probe_tree_t": `{"value":4,"children":1,"child":[{"value":-3,"children":2,"child":[` +
		`{"value":1,"children":0,"child":[]},{"value":2,"children":0,"child":[]}]}]}`,
	"probe_empty_t": `{}`,
}

func TestVectorsOfLCMGen(t *testing.T) {
	s := probe(t)
	f, err := os.Open("testdata/probe/fingerprints.txt")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	lines := 0
	for in := bufio.NewScanner(f); in.Scan(); lines++ {
		fields := strings.Fields(in.Text())
		typ := typed(t, s, fields[0])
		want, err := strconv.ParseUint(fields[1], 16, 64)
		require.NoError(t, err)
		assert.Equal(t, want, typ.Fingerprint, fields[0])
		payload := vector(t, fields[0])
		assert.Equal(t, fields[2], strconv.Itoa(len(payload)))
		require.Equal(t, []*Type{typ}, s.Of(payload))
		text, err := typ.AppendJSON(nil, payload)
		require.NoError(t, err)
		assert.Equal(t, said[fields[0]], string(text))
		again, err := typ.Encode(text)
		require.NoError(t, err)
		assert.Equal(t, payload, again)
	}
	require.Equal(t, len(said), lines)
}

// A message that is cut off anywhere, or has more behind it, is refused: with a place, and without a panic.
func TestVectorsCutOff(t *testing.T) {
	s := probe(t)
	for name := range said {
		typ, payload := typed(t, s, name), vector(t, name)
		for n := range payload {
			kept := []byte("kept")
			out, err := typ.AppendJSON(kept, payload[:n])
			require.Error(t, err, "%s, %d bytes", name, n)
			require.Equal(t, "kept", string(out))
		}
		_, err := typ.AppendJSON(nil, append(payload, 0))
		require.EqualError(t, err, typ.Name+" at byte "+strconv.Itoa(len(payload))+": 1 bytes come after the end of the message")
	}
}

func TestConstants(t *testing.T) {
	limits := probe(t).Lookup("other.limits_t").Constants
	for i := range limits {
		limits[i].Position = Position{}
	}
	require.Equal(t, []Constant{
		{Name: "MAX_ROWS", Kind: Int32, Text: "64"},
		{Name: "MAX_COLS", Kind: Int32, Text: "32"},
		{Name: "SCALE", Kind: Double, Text: "0.25"},
		{Name: "MASK", Kind: Int64, Text: "0x7fffffff"},
	}, limits)
}
