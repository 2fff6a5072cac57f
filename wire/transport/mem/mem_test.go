package mem_test

import (
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A mebibyte may be unread; then a Write waits until it is read, or either end closes.
func TestWriteWaits(t *testing.T) {
	large := []wire.Packet{{Body: &metasim.Send{Payload: make([]byte, 1<<20)}}}
	for name, c := range map[string]struct {
		end  func(client, server wire.Conn) error
		want error
	}{
		"read":      {func(_, server wire.Conn) error { _, err := server.Read(); return err }, nil},
		"close":     {func(client, _ wire.Conn) error { return client.Close() }, net.ErrClosed},
		"peer gone": {func(_, server wire.Conn) error { return server.Close() }, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := mem.Pipe("client", "server")
				require.NoError(t, client.Write(large))
				written := false
				var err error
				go func() {
					err = client.Write(large)
					written = true
				}()
				synctest.Wait()
				require.False(t, written, "the buffer is full")
				require.NoError(t, c.end(client, server))
				synctest.Wait()
				require.True(t, written)
				if c.want == nil {
					require.NoError(t, err)
				} else {
					require.Error(t, err)
				}
			})
		})
	}
}

// A Read takes all that is there, and its slice lasts until the next.
func TestReadTakesAll(t *testing.T) {
	client, server := mem.Pipe("client", "server")
	require.Equal(t, "server", client.Peer())
	require.Equal(t, "client", server.Peer())
	one, two := wire.Packet{Member: 1, Body: wire.Goodbye{}}, wire.Packet{Member: 2, Body: wire.Goodbye{}}
	require.NoError(t, client.Write([]wire.Packet{one}))
	require.NoError(t, client.Write([]wire.Packet{two}))
	got, err := server.Read()
	require.NoError(t, err)
	require.NoError(t, client.Write([]wire.Packet{two}))
	require.Equal(t, []wire.Packet{one, two}, got)
	got, err = server.Read()
	require.NoError(t, err)
	require.Equal(t, []wire.Packet{two}, got)
}

// A connection that was dialed and not accepted is closed with the Net.
func TestNetClose(t *testing.T) {
	n := mem.NewNet()
	client, err := n.Dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, n.Close())
	_, err = client.Read()
	require.Error(t, err)
	_, err = n.Dial(t.Context())
	require.ErrorIs(t, err, mem.ErrRefused)
}

// To send a packet allocates nothing.
func TestNoAllocations(t *testing.T) {
	client, server := mem.Pipe("client", "server")
	packets := []wire.Packet{{Body: &metasim.Send{Channel: "X", Payload: []byte("payload")}}}
	came := 0
	server.(wire.Direct).Receive(func(p []wire.Packet, _ error) { came += len(p) })
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		require.NoError(t, client.Write(packets))
	}))
	require.Equal(t, 1001, came)
}
