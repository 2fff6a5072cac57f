package stream

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/wire"
)

// A hiding is a stream for tests. Each read returns the same packet. It records each call of hide.
type hiding struct {
	net.Conn
	frame []byte
	hid   []bool
}

func (h *hiding) TryRead(b []byte) (int, error)  { return copy(b, h.frame), nil }
func (h *hiding) TryWrite(b []byte) (int, error) { return len(b), nil }
func (h *hiding) Read(b []byte) (int, error)     { return h.TryRead(b) }
func (h *hiding) hide(soon bool)                 { h.hid = append(h.hid, soon) }

// What a program does after it has computed for long is seen by Go's scheduler, so that this may let others compute.
func TestCallsOfALateProgramAreSeen(t *testing.T) {
	frame, err := new(wire.Encoder).AppendFrames(nil, []wire.Packet{{Body: wire.Failed{Reason: "x"}}})
	require.NoError(t, err)
	h := &hiding{frame: frame}
	c := New(h, "peer").(*promptConn)
	clock := time.Unix(0, 0)
	c.poller.now = func() time.Time { return clock }
	for _, computes := range []time.Duration{0, time.Microsecond, soon - 1, soon, time.Hour, time.Microsecond} {
		clock = clock.Add(computes)
		_, err := c.Read()
		require.NoError(t, err)
	}
	require.Equal(t, []bool{false, true, true, false, false, true}, h.hid)
}

// Who has dialed and comes back soon makes calls that the scheduler does not see. They read, write and end as others do.
func TestUnseenCalls(t *testing.T) {
	l, err := Unix().Listen("unix://" + t.TempDir() + "/s")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	out, err := Unix().Dial(t.Context(), l.URL())
	require.NoError(t, err)
	in, err := l.Accept()
	require.NoError(t, err)
	hidden := func(c wire.Conn) bool { return c.(*promptConn).stream.(*apartSocket).hidden.Load() }
	for _, c := range []wire.Conn{in, out} {
		c.(*promptConn).poller.now = func() time.Time { return time.Unix(0, 0) } // no time passes
	}
	for i := range 3 {
		said := []wire.Packet{{Member: uint32(i), Body: wire.Failed{Reason: "x"}}}
		for _, way := range [][2]wire.Conn{{out, in}, {in, out}} {
			require.NoError(t, way[0].Write(said))
			heard, err := way[1].Read()
			require.NoError(t, err)
			require.Equal(t, said, heard)
		}
		require.Equal(t, i > 0, hidden(out))
		require.False(t, hidden(in))
	}
	require.NoError(t, in.Close())
	_, err = out.Read()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, out.Close())
}
