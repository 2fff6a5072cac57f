package quic

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/wire"
	"metasim/wire/transport/secure"
)

// A mortal is a socket whose process can be killed: it says nothing any more, and its port is free.
type mortal struct {
	*net.UDPConn
	dead atomic.Bool
	over chan struct{} // closed when the test is over
}

func (m *mortal) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := m.UDPConn.ReadFrom(b)
	if m.dead.Load() {
		<-m.over
	}
	return n, from, err
}

func (m *mortal) WriteTo(b []byte, to net.Addr) (int, error) {
	if m.dead.Load() {
		return len(b), nil
	}
	return m.UDPConn.WriteTo(b, to)
}

// A server dies, and another one with its certificate has its port before anybody can ask: an idle client notices as soon as it hears nothing.
func TestResumedAtOnce(t *testing.T) {
	first, err := secure.NewServer(secure.Files{})
	require.NoError(t, err)
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	socket := &mortal{UDPConn: udp, over: make(chan struct{})}
	l, err := listenOn(struct{ net.PacketConn }{socket}, first)
	require.NoError(t, err)
	l.asking = make(chan struct{}, maxAsked)
	client, err := dialURL(t.Context(), l.URL(), "")
	require.NoError(t, err)
	require.NoError(t, client.Write([]wire.Packet{{Body: wire.Goodbye{}}}))
	served, err := l.Accept()
	require.NoError(t, err)
	_, err = served.Read()
	require.NoError(t, err)
	time.AfterFunc(2*keepAlive, func() { // all that was written is acknowledged by then
		socket.dead.Store(true)
	})
	require.Eventually(t, socket.dead.Load, time.Minute, time.Millisecond)
	require.NoError(t, udp.Close())

	made, err := first.Made()
	require.NoError(t, err)
	again, err := secure.Again(made)
	require.NoError(t, err)
	l2, err := listenURL("quic://"+udp.LocalAddr().String(), again)
	require.NoError(t, err)
	began := time.Now()
	_, err = client.Read()
	require.ErrorContains(t, err, "does not know the connection")
	t.Logf("known after %v", time.Since(began).Round(time.Millisecond))

	close(socket.over)
	require.NoError(t, client.Close())
	require.NoError(t, l2.Close())
	_ = served.Close() // its socket is closed
	_ = l.Close()
}
