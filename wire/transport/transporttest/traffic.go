package transporttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/wire"
)

// traffic checks that one end counts as out what the other counts as in: frames and bytes, of any size, and wherever the
// stream is cut.
func traffic(t *testing.T, transport Transport) {
	client, server := pair(t, transport)
	const hello = 1 // pair's
	count := 0
	for _, size := range []int{0, 1, 100, 4000, 70_000, 300_000} {
		for range 20 {
			// A large packet is read while it is written.
			up := inBackground(func() error { return client.Write([]wire.Packet{numbered(count, size), numbered(count+1, 0)}) })
			readN(t, server, 2)
			require.NoError(t, <-up)
			down := inBackground(func() error { return server.Write([]wire.Packet{numbered(count, 2*size)}) })
			readN(t, client, 1)
			require.NoError(t, <-down)
			count++
		}
	}
	frames, err := new(wire.Encoder).Frames([]wire.Packet{numbered(0, 5000)})
	require.NoError(t, err)
	require.NoError(t, server.WriteFrames(frames))
	readN(t, client, 1)
	if p, ok := server.(wire.Prompt); ok {
		// In two parts, as on a full connection: first without waiting, then the rest.
		const inTheLength = 2
		n, err := p.TryWriteFrames(frames[:inTheLength])
		require.NoError(t, err)
		require.NoError(t, p.WriteFrames(frames[n:]))
		readN(t, client, 1)
	}
	closeBoth(t, client, server)
	there, here := client.Traffic(), server.Traffic()
	require.Equal(t, there, wire.Traffic{FramesIn: here.FramesOut, FramesOut: here.FramesIn, BytesIn: here.BytesOut, BytesOut: here.BytesIn})
	if here.FramesIn != uint64(hello+count) || here.FramesOut < uint64(count+1) || here.FramesOut > uint64(count+2) {
		t.Fatalf("%+v, where %d and %d were written", here, hello+count, count+1)
	}
	if payloads := uint64(20 * (0 + 1 + 100 + 4000 + 70_000 + 300_000)); here.BytesIn < payloads || here.BytesIn > payloads+payloads/50 ||
		here.BytesOut < 2*payloads+5000 || here.BytesOut > 2*payloads+payloads/50 {
		t.Fatalf("%+v, where %d bytes of payload came in", here, payloads)
	}
}
