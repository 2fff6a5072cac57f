package quic

import (
	"bytes"
	"context"
	"crypto/tls"
	"log"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/wire"
	"metasim/wire/transport/secure"
)

// said is what quic-go writes on the standard logger.
var said bytes.Buffer

func TestMain(m *testing.M) {
	log.SetOutput(&said)
	goleak.VerifyTestMain(m)
}

// plain hides that a connection has buffers, of which quic-go complains whatever the system allows.
type plain struct{ net.PacketConn }

// quic-go writes nothing about buffers that are too small.
func TestQuietAboutBuffers(t *testing.T) {
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	l, err := listenOn(plain{udp}, nil)
	require.NoError(t, err)
	client, err := dialURL(t.Context(), l.URL(), "")
	require.NoError(t, err)
	require.NoError(t, client.Close())
	require.NoError(t, l.Close())
	require.Empty(t, said.String())
}

// What a socket had no room for is counted, also after it was closed.
func TestDropped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED LOUDLY: only Linux counts the datagrams that a socket has dropped")
	}
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	require.NoError(t, udp.SetReadBuffer(4096))
	out, err := net.Dial("udp", udp.LocalAddr().String())
	require.NoError(t, err)
	for range 100 {
		_, err := out.Write(make([]byte, 1000))
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	require.Greater(t, dropped(udp), uint64(50))
	l := &listener{socket: &socket{transport: &quicgo.Transport{Conn: udp}, users: 1}}
	require.NoError(t, l.socket.release())
	require.Greater(t, l.Dropped(), uint64(50))
}

func listen(t *testing.T) wire.Listener {
	t.Helper()
	l, err := listenURL("quic://127.0.0.1:0", nil)
	require.NoError(t, err)
	return l
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"tcp://127.0.0.1:1", "a client uses quic://host:port?sha256=<64 hex>"},
		{"quic://127.0.0.1", "a client uses quic://host:port?sha256=<64 hex>"},
		{"quic://127.0.0.1:1/x", "a client uses quic://host:port?sha256=<64 hex>"},
		{"quic://127.0.0.1:1", "does not pin the server's certificate"},
		{"quic://127.0.0.1:1?sha256=12", "is no SHA-256"},
		{"quic://127.0.0.1:1?sha256=" + strings.Repeat("x", 64), "is no SHA-256"},
	} {
		_, err := dialURL(t.Context(), c.url, "")
		require.ErrorContains(t, err, c.want)
	}
	_, err := listenURL("quic://192.0.2.1:1", nil)
	require.ErrorContains(t, err, "use a free port")
}

// The certificate of another server is refused, with the reason.
func TestPin(t *testing.T) {
	one, other := listen(t), listen(t)
	defer func() { require.NoError(t, one.Close()) }()
	defer func() { require.NoError(t, other.Close()) }()
	where, _, _ := strings.Cut(one.URL(), "?")
	_, pin, _ := strings.Cut(other.URL(), "?")
	_, err := dialURL(t.Context(), where+"?"+pin, "")
	require.ErrorContains(t, err, "use the URL of the run as the server printed it")
}

// More connections of visitors than a server takes are refused, and get in once there is room.
func TestManyVisitors(t *testing.T) {
	l := listen(t)
	l.(*listener).visitors.Store(maxVisitors)
	time.AfterFunc(50*time.Millisecond, func() { l.(*listener).visitors.Store(manyVisitors) })
	client, err := dialURL(t.Context(), l.URL(), "")
	require.NoError(t, err)
	require.NoError(t, client.Write(goodbye))
	server, err := l.Accept()
	require.NoError(t, err)
	require.EqualValues(t, manyVisitors+1, l.(*listener).visitors.Load())
	server.(wire.Guarded).Trust()
	server.(wire.Guarded).Trust()
	require.EqualValues(t, manyVisitors, l.(*listener).visitors.Load())
	closed := make(chan error, 1)
	go func() { closed <- client.Close() }()
	require.NoError(t, server.Close())
	require.NoError(t, <-closed)
	require.NoError(t, l.Close())
}

// A peer with another ALPN is refused.
func TestAnotherProtocol(t *testing.T) {
	l := listen(t)
	defer func() { require.NoError(t, l.Close()) }()
	hostport, _, _, err := secure.ParseURL("quic", l.URL())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = quicgo.DialAddr(ctx, hostport, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}}, nil)
	require.ErrorContains(t, err, "no application protocol")
}

// Who is not let in is told so by a dial, too, if the server was fast: a Read tells the others.
func TestADialThatIsNotLetIn(t *testing.T) {
	why := &quicgo.TransportError{Remote: true, ErrorCode: 0x12a}
	require.ErrorIs(t, notLetIn(why), errNotLetIn)
	for _, other := range []error{nil, &quicgo.TransportError{ErrorCode: 0x12a}, &quicgo.TransportError{Remote: true, ErrorCode: 0x128}} {
		require.Equal(t, other, notLetIn(other))
	}
}
