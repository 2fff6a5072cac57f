package mem

import (
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
)

func numbered(n uint64) []wire.Packet {
	return []wire.Packet{{Body: &metasim.Advance{Report: metasim.Report{Acked: n}}}}
}

// A receiver gets what was written before Receive, then each write at once, and at last, once, the end.
func TestReceive(t *testing.T) {
	a, b := Pipe("client", "server")
	for n := range uint64(3) {
		require.NoError(t, a.Write(numbered(n)))
	}
	var got []uint64
	var ends []error
	b.(wire.Direct).Receive(func(packets []wire.Packet, err error) {
		for _, p := range packets {
			got = append(got, p.Body.(*metasim.Advance).Acked)
		}
		if err != nil {
			ends = append(ends, err)
		}
	})
	require.Equal(t, []uint64{0, 1, 2}, got)
	require.True(t, a.(wire.Direct).Immediate())
	require.False(t, b.(wire.Direct).Immediate(), "nobody receives at the other end")
	require.NoError(t, a.Write(numbered(3)))
	require.Equal(t, []uint64{0, 1, 2, 3}, got, "within the write")
	require.Empty(t, ends)
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.Equal(t, []error{io.EOF}, ends)
	require.ErrorIs(t, a.Write(numbered(4)), net.ErrClosed)
	require.Len(t, got, 4)
}

// After its own Close a receiver is not called any more, and the writes of the peer fail.
func TestReceiverCloses(t *testing.T) {
	a, b := Pipe("client", "server")
	calls := 0
	b.(wire.Direct).Receive(func([]wire.Packet, error) { calls++ })
	require.NoError(t, b.Close())
	require.ErrorIs(t, a.Write(numbered(0)), io.ErrClosedPipe)
	require.NoError(t, a.Close())
	require.Zero(t, calls)
}

// Receive ends the wait of a write for room, and the receiver gets everything in order.
func TestReceiveFreesAWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe("client", "server")
		const writes = 40
		go func() {
			for n := range writes { // 64 kB each: the pipe is full soon
				packet := wire.Packet{Member: uint32(n), Body: &metasim.Send{Channel: "X", Payload: make([]byte, 1<<16)}}
				assert.NoError(t, a.Write([]wire.Packet{packet}))
			}
		}()
		synctest.Wait()
		var got []uint32
		b.(wire.Direct).Receive(func(packets []wire.Packet, _ error) {
			for _, p := range packets {
				got = append(got, p.Member)
			}
		})
		synctest.Wait()
		require.Len(t, got, writes)
		for n, m := range got {
			require.Equal(t, uint32(n), m)
		}
	})
}
