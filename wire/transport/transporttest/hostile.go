package transporttest

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/wire"
)

// hostile connects a peer that breaks the protocol, and sends these bytes first.
func hostile(t *testing.T, transport Transport, bytes ...byte) (Raw, wire.Conn) {
	t.Helper()
	l := listen(t, transport)
	raw := transport.Raw(t, l.URL())
	t.Cleanup(raw.Kill)
	_, err := raw.Write(bytes)
	require.NoError(t, err)
	return raw, accept(t, l)
}

func wantProtocolError(t *testing.T, c wire.Conn) error {
	t.Helper()
	_, err := within(t, "read", c.Read)
	var refused *wire.ProtocolError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, c.Peer(), refused.Peer)
	return err
}

// garbage has the length of a frame but is none. The server can still send the reason.
func garbage(t *testing.T, transport Transport) {
	_, c := hostile(t, transport, 4, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef)
	_ = wantProtocolError(t, c) // the tests of wire check its text
	write(t, c, wire.Packet{Body: wire.Refuse{Reason: wire.BadMessage, Text: "what was that?"}})
}

func oversizedLength(t *testing.T, transport Transport) {
	_, c := hostile(t, transport, binary.LittleEndian.AppendUint32(nil, 1<<32-1)...)
	_ = wantProtocolError(t, c) // as above
}

func halfFrame(t *testing.T, transport Transport) {
	raw, c := hostile(t, transport, 4, 0, 0, 0, 0x0a)
	require.NoError(t, raw.Close())
	require.ErrorIs(t, wantProtocolError(t, c), io.ErrUnexpectedEOF)
}

// killed: a Read ends soon after the death of the peer, with io.EOF or an error.
func killed(t *testing.T, transport Transport) {
	raw, c := hostile(t, transport, 4, 0, 0, 0, 0x0a, 2, 0x2a, 0)
	require.Equal(t, wire.Packet{Body: wire.Goodbye{}}, readN(t, c, 1)[0])
	raw.Kill()
	packets, err := within(t, "a read from a dead peer", c.Read)
	require.Error(t, err, "a dead peer sent %v", packets)
	require.NotErrorIs(t, err, net.ErrClosed, "it looks like this side's own Close")
}
