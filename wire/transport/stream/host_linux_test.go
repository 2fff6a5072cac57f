package stream

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/netns"
	"metasim/wire"
)

// A host that vanishes is noticed after its time, whether something was on its way to it or not. The loopback interface that
// is down stands for a cable that was cut.
func TestVanishedHost(t *testing.T) {
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: the network of this host is not cut for a test")
	}
	const patience = 3 * time.Second
	l, err := TCP().Listen("tcp://127.0.0.1:0")
	require.NoError(t, err)
	l.(*tcpListener).SetPeerTimeout(patience)
	ends := make(chan time.Duration, 2)
	var cut time.Time
	begun := make(chan struct{})
	var conns []wire.Conn
	for _, busy := range []bool{false, true} {
		client, err := TCP().Dial(t.Context(), l.URL())
		require.NoError(t, err)
		server, err := l.Accept()
		require.NoError(t, err)
		conns = append(conns, client, server)
		go func() {
			<-begun
			if busy {
				assertWritten(t, server)
			}
			_, err := server.Read()
			require.ErrorContains(t, err, "its host has not answered for 3s")
			ends <- time.Since(cut)
		}()
	}
	require.NoError(t, exec.Command("ip", "link", "set", "lo", "down").Run())
	cut = time.Now()
	close(begun)
	for range 2 {
		took := <-ends
		require.Greater(t, took, patience/2)
		require.Less(t, took, 2*patience)
	}
	require.NoError(t, exec.Command("ip", "link", "set", "lo", "up").Run())
	for _, c := range conns {
		for err := error(nil); err == nil; { // until the end of the other side has come
			_, err = c.Read()
		}
		_ = c.Close() // half of them are broken
	}
	require.NoError(t, l.Close())
}

func assertWritten(t *testing.T, c wire.Conn) {
	require.NoError(t, c.Write([]wire.Packet{{Body: wire.Goodbye{}}}))
}
