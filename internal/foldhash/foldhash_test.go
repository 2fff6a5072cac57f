package foldhash_test

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/foldhash"
)

// word is the definition with numbers of any size: both halves of the product, mixed.
func word(h, w uint64) uint64 {
	const by = 0x9e3779b97f4a7c15
	product := new(big.Int).Mul(new(big.Int).SetUint64(h^w), new(big.Int).SetUint64(by))
	hi := new(big.Int).Rsh(product, 64)
	lo := new(big.Int).And(product, new(big.Int).SetUint64(1<<64-1))
	return hi.Uint64() ^ lo.Uint64()
}

func TestShortIsByWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 64 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		want := word(foldhash.Seed, uint64(n))
		padded := append(b[:n:n], make([]byte, (8-n%8)%8)...)
		for ; len(padded) > 0; padded = padded[8:] {
			want = word(want, binary.LittleEndian.Uint64(padded))
		}
		require.Equal(t, want, foldhash.Bytes(foldhash.Seed, b), n)
		require.Equal(t, want, foldhash.Bytes(foldhash.Seed, string(b)), n)
	}
}

// Journals and digests of older runs must stay comparable, so these values never change.
func TestPinned(t *testing.T) {
	long := make([]byte, 1000)
	for i := range long {
		long[i] = byte(i)
	}
	require.Equal(t, "2d8b0f8176f5f2c7 5aa9034d64a0c4d3", fmt.Sprintf("%016x %016x",
		foldhash.Bytes(foldhash.Seed, "PING"), foldhash.Bytes(foldhash.Seed, long)))
}

// Whatever changes, the hash changes: a bit, the length, a zero at the end, the order.
func TestTellsApart(t *testing.T) {
	seen := map[uint64]string{}
	add := func(h uint64, text string) {
		require.Empty(t, seen[h], text)
		seen[h] = text
	}
	for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 200} {
		b := make([]byte, n)
		add(foldhash.Bytes(foldhash.Seed, b), fmt.Sprint(n, " zeros"))
		for i := range n * 8 {
			b[i/8] ^= 1 << (i % 8)
			add(foldhash.Bytes(foldhash.Seed, b), fmt.Sprint(n, " with bit ", i))
			b[i/8] = 0
		}
	}
	require.NotEqual(t, foldhash.Word(foldhash.Word(foldhash.Seed, 1), 2), foldhash.Word(foldhash.Word(foldhash.Seed, 2), 1))
}
