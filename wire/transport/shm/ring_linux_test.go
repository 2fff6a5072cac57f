package shm

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/wire"
)

// testRing returns a ring in heap memory whose indices are both at.
func testRing(size, at uint32) (*sink, *source) {
	up, _ := rings(make(memory, fileSize(size)), size, "shm pid 1")
	up.tail.Store(at)
	up.head.Store(at)
	return &sink{ring: up, next: at, read: at}, &source{ring: up, next: at}
}

// Every length wraps around the end at every offset, and around the end of the index.
func TestEveryWrap(t *testing.T) {
	const size = minRingSize
	text := []byte("0123456789abcdefghij")
	for _, base := range []uint32{0, math.MaxUint32 - size + 1} {
		for offset := range uint32(size) {
			for n := range len(text) + 1 {
				out, in := testRing(size, base+offset)
				fits := min(n, size)
				put, err := out.put(text[:n])
				require.NoError(t, err)
				require.Equal(t, fits, put)
				got := make([]byte, len(text))
				took, err := in.takeUntil(got, in.tail.Load())
				require.NoError(t, err)
				require.Equal(t, text[:fits], got[:took])
			}
		}
	}
}

// A ring is a queue of bytes: the twin is a slice.
func TestRingIsQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out, in := testRing(64, rapid.Uint32().Draw(t, "at"))
		var twin []byte
		next := byte(0)
		for range rapid.IntRange(1, 100).Draw(t, "operations") {
			b := make([]byte, rapid.IntRange(0, 100).Draw(t, "length"))
			if rapid.Bool().Draw(t, "put") {
				for i := range b {
					b[i] = next + byte(i)
				}
				n, err := out.put(b)
				require.NoError(t, err)
				require.Equal(t, min(len(b), 64-len(twin)), n)
				twin, next = append(twin, b[:n]...), next+byte(n)
				continue
			}
			n, err := in.takeUntil(b, in.tail.Load())
			require.NoError(t, err)
			require.Equal(t, min(len(b), len(twin)), n)
			require.True(t, bytes.Equal(twin[:n], b[:n]))
			twin = twin[n:]
		}
	})
}

// FuzzIndices: an impossible index of the peer is refused, and nothing outside the ring is touched: a slice would panic.
func FuzzIndices(f *testing.F) {
	f.Add(uint32(0), uint32(0), uint32(0))
	f.Add(uint32(0), uint32(65), uint32(1))
	f.Add(uint32(math.MaxUint32), uint32(63), uint32(math.MaxUint32-63))
	f.Fuzz(func(t *testing.T, at, tail, head uint32) {
		_, in := testRing(64, at)
		in.tail.Store(tail)
		n, err := in.takeUntil(make([]byte, 100), in.tail.Load())
		checkIndices(t, tail-at, int(tail-at), n, err)
		out, _ := testRing(64, at)
		out.head.Store(head)
		n, err = out.put(make([]byte, 100))
		if head == at || at-head > 64 {
			checkIndices(t, at-head, 64, n, err)
		}
	})
}

func checkIndices(t *testing.T, used uint32, want, n int, err error) {
	if used <= 64 {
		require.NoError(t, err)
		require.Equal(t, want, n)
		return
	}
	var refused *wire.ProtocolError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "shm pid 1", refused.Peer)
	require.Zero(t, n)
}
