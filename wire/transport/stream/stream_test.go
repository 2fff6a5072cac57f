package stream_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/internal/netns"
	"metasim/internal/shortdir"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/stream"
)

var streams = transport.Table{stream.Unix(), stream.TCP()}

// listenAt listens at a URL with the transport of its scheme.
func listenAt(url string) (wire.Listener, error) {
	if strings.HasPrefix(url, "unix:") {
		return stream.Unix().Listen(url)
	}
	return stream.TCP().Listen(url)
}

func TestMain(m *testing.M) {
	if netns.Given() {
		goleak.VerifyTestMain(m)
	}
	os.Exit(netns.Main(m))
}

func socketURL(t *testing.T) string {
	return "unix://" + filepath.ToSlash(filepath.Join(shortdir.Make(t), "s"))
}

func listen(t *testing.T, url string) wire.Listener {
	t.Helper()
	l, err := listenAt(url)
	require.NoError(t, err)
	return l
}

func TestAddresses(t *testing.T) {
	long := "unix:///" + strings.Repeat("x", 200)
	for _, c := range []struct{ url, want string }{
		{"unix:relative", "use unix:///path, with three slashes"},
		{"unix://host/path", "use unix:///path, with three slashes"},
		{"tcp://host", "use tcp://host:port"},
		{"tcp://host:1/path", "use tcp://host:port"},
		{"tcp://", "use tcp://host:port"},
		{"tcp://\x00", "is no URL"},
		{long, "has 201 bytes, and the system allows 10"},
		{"unix:///does/not/exist/s", "/does/not/exist/s"},
	} {
		_, err := listenAt(c.url)
		require.ErrorContains(t, err, c.want)
		_, err = streams.Dial(t.Context(), c.url)
		require.ErrorContains(t, err, c.want)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED LOUDLY: Windows files have no modes; there the directory protects the socket")
	}
	where := socketURL(t)
	l := listen(t, where)
	path := strings.TrimPrefix(where, "unix://")
	file, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), file.Mode().Perm())
	require.NoError(t, l.Close())
	require.NoFileExists(t, path)
}

func TestUnixPeerIsNamed(t *testing.T) {
	l := listen(t, socketURL(t))
	client, err := streams.Dial(t.Context(), l.URL())
	require.NoError(t, err)
	require.Regexp(t, "^unix (pid [0-9]+|peer)$", client.Peer())
	require.NoError(t, client.Close())
	require.NoError(t, l.Close())
}

// The socket of a dead server is replaced; that of a living one, and another file, are not.
func TestStaleSockets(t *testing.T) {
	where := socketURL(t)
	path := strings.TrimPrefix(where, "unix://")
	dead, err := net.Listen("unix", path)
	require.NoError(t, err)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	require.FileExists(t, path)

	_, err = streams.Dial(t.Context(), where)
	require.ErrorContains(t, err, "nobody listens at "+where)
	l := listen(t, where)
	_, err = listenAt(where)
	require.ErrorContains(t, err, "another server listens at "+path)
	require.FileExists(t, path)

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	_, err = listenAt(where)
	require.ErrorContains(t, err, "is there and is no socket")
	require.NoError(t, l.Close())
	require.FileExists(t, path, "a listener removes its own file only")
}

func TestPortIsTaken(t *testing.T) {
	l := listen(t, "tcp://127.0.0.1:0")
	_, err := listenAt(l.URL())
	require.ErrorContains(t, err, "use a free port, or 0 for any")
	require.NoError(t, l.Close())
	_, err = streams.Dial(t.Context(), l.URL())
	require.ErrorContains(t, err, "nobody listens at "+l.URL())
}

func TestDialIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := streams.Dial(ctx, "tcp://127.0.0.1:1")
	require.ErrorIs(t, err, context.Canceled)
}

func dialTCP(t *testing.T, l wire.Listener) *net.TCPConn {
	c, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "tcp://"))
	require.NoError(t, err)
	return c.(*net.TCPConn)
}

// A connection that is reset, as by the death of the network, ends a Read. It does not look like this side's own Close.
func TestResetEndsRead(t *testing.T) {
	l := listen(t, "tcp://127.0.0.1:0")
	peer := dialTCP(t, l)
	c, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, peer.SetLinger(0))
	require.NoError(t, peer.Close())
	_, err = c.Read()
	require.Error(t, err)
	require.NotErrorIs(t, err, net.ErrClosed)
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
}

// A side that has read the end closes its direction at once, before its own Close: the peer's Close waits for that.
func TestReadingTheEndReleasesThePeer(t *testing.T) {
	l := listen(t, "tcp://127.0.0.1:0")
	peer := dialTCP(t, l)
	c, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, peer.CloseWrite())
	_, err = c.Read()
	require.Equal(t, io.EOF, err)
	require.NoError(t, peer.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = peer.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.NoError(t, c.Close())
	require.NoError(t, peer.Close())
	require.NoError(t, l.Close())
}

// A stream that cannot end one half only (a net.Pipe) works too.
func TestAnyStream(t *testing.T) {
	a, b := net.Pipe()
	client, server := stream.New(a, "server"), stream.New(b, "client")
	written := make(chan error, 1)
	go func() { written <- client.Write([]wire.Packet{{Body: wire.Goodbye{}}}) }()
	got, err := server.Read()
	require.NoError(t, err)
	require.NoError(t, <-written)
	require.Equal(t, []wire.Packet{{Body: wire.Goodbye{}}}, got)
	require.NoError(t, client.Close())
	require.NoError(t, server.Close())
}
