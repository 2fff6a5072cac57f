package quic

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
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

func mortalSocket(t *testing.T) *mortal {
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	return &mortal{UDPConn: udp, over: make(chan struct{})}
}

// again returns a server with the certificate of another one.
func again(t *testing.T, first *secure.Server) *secure.Server {
	made, err := first.Made()
	require.NoError(t, err)
	s, err := secure.Again(made)
	require.NoError(t, err)
	return s
}

// A server dies, and another one with its certificate has its port before anybody can ask: an idle client notices as soon as it hears nothing.
func TestResumedAtOnce(t *testing.T) {
	first, err := secure.NewServer(secure.Files{})
	require.NoError(t, err)
	socket := mortalSocket(t)
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
	require.NoError(t, socket.Close())

	l2, err := listenURL("quic://"+socket.LocalAddr().String(), again(t, first))
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

// A PostOffice dies, and another one with its certificate has its port at once: whoever sends to it is told, and need not wait until it has been silent for too long.
func TestPostOfficeAgain(t *testing.T) {
	first, err := secure.NewServer(secure.Files{})
	require.NoError(t, err)
	socket := mortalSocket(t)
	o, err := postOn(struct{ net.PacketConn }{socket}, first, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	received, ended := make(chan []byte, 1), make(chan error, 2)
	receive := func(o *PostOffice) { ended <- o.Receive(ctx, func(b []byte, _ *Caller) { received <- b }) }
	go receive(o)
	p, err := DialPost(ctx, o.URL(), "")
	require.NoError(t, err)
	require.NoError(t, p.Send(ctx, []byte("to the first")))
	require.Equal(t, "to the first", string(<-received))
	socket.dead.Store(true)
	require.NoError(t, socket.Close())

	o2, err := ListenPost("quic://"+socket.LocalAddr().String(), again(t, first), nil)
	require.NoError(t, err)
	go receive(o2)
	require.Eventually(t, func() bool {
		err = p.Send(ctx, []byte("to somebody who does not know the connection"))
		return err != nil
	}, time.Minute, time.Millisecond)
	require.ErrorAs(t, err, new(*quicgo.StatelessResetError))
	require.NoError(t, p.Close())

	close(socket.over)
	cancel()
	<-ended // the socket of the first one is closed
	<-ended
}
