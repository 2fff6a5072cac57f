package slab

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Copies keep their bytes while more are made; after Reclaim their memory is used again.
func TestBytes(t *testing.T) {
	const most = 4 << 10
	var m Bytes
	pass := func(check func(copied, from []byte)) {
		for size := range 300 {
			from := bytes.Repeat([]byte{byte(size)}, size)
			check(m.Copy(from, most), from)
		}
	}
	var kept, wanted [][]byte
	pass(func(copied, from []byte) {
		require.Equal(t, len(copied), cap(copied), "an append does not reach the next copy")
		kept, wanted = append(kept, copied), append(wanted, bytes.Clone(from))
		clear(from)
	})
	require.Nil(t, kept[0])
	for i := 1; i < len(kept); i++ {
		require.Equal(t, wanted[i], kept[i])
	}
	large := make([]byte, most)
	require.NotSame(t, &large[0], &m.Copy(large, most)[0])
	m.Reclaim()
	small := []byte("small")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for range 100 {
			m.Copy(small, most)
		}
		m.Reclaim()
	}))
}
