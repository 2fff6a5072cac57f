package types

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The grid has numbers, strings, bytes, nested structs and arrays of several dimensions.
func BenchmarkAppendJSON(b *testing.B) {
	typ, payload := typed(b, probe(b), "probe_grid_t"), vector(b, "probe_grid_t")
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	var text []byte
	for b.Loop() {
		var err error
		text, err = typ.AppendJSON(text[:0], payload)
		require.NoError(b, err)
	}
}

func BenchmarkEncode(b *testing.B) {
	typ, text := typed(b, probe(b), "probe_grid_t"), []byte(said["probe_grid_t"])
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := typ.Encode(text)
		require.NoError(b, err)
	}
}
