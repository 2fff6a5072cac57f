package transport_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/quic"
	"metasim/wire/transport/shm"
	"metasim/wire/transport/stream"
)

func TestMain(m *testing.M) {
	if err := os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// Every transport is reached by the URL that its listener gives, a path with spaces included.
func TestURL(t *testing.T) {
	dir, err := os.MkdirTemp("", "ms")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "a b")
	for name, listen := range map[string]func() (wire.Listener, error){
		"unix": func() (wire.Listener, error) { return stream.Listen("unix://" + filepath.ToSlash(path)) },
		"shm":  func() (wire.Listener, error) { return shm.Listen("shm://" + filepath.ToSlash(path)) },
		"tcp":  func() (wire.Listener, error) { return stream.Listen("tcp://127.0.0.1:0") },
		"quic": func() (wire.Listener, error) { return quic.Listen("quic://127.0.0.1:0") },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := listen()
			if name == "shm" && runtime.GOOS != "linux" {
				require.ErrorIs(t, err, errors.ErrUnsupported)
				return
			}
			require.NoError(t, err)
			var dialer wire.Dialer = transport.Dialer{}
			client, err := dialer.Dial(t.Context(), l.URL())
			require.NoError(t, err)
			hello := []wire.Packet{{Body: wire.Hello{Version: wire.Version}}}
			require.NoError(t, client.Write(hello))
			server, err := l.Accept()
			require.NoError(t, err)
			got, err := server.Read()
			require.NoError(t, err)
			require.Equal(t, hello, got)
			closed := make(chan error, 1)
			go func() { closed <- client.Close() }()
			require.NoError(t, server.Close())
			require.NoError(t, <-closed)
			require.NoError(t, l.Close())
		})
	}
}

func TestErrors(t *testing.T) {
	const pin = "0000000000000000000000000000000000000000000000000000000000000000"
	for url, want := range map[string]string{
		"":                                 "set METASIM_SERVER",
		"mem:":                             "use unix://, shm://, tcp:// or quic://",
		"localhost:4000":                   "use unix://, shm://, tcp:// or quic://",
		"http://localhost:4000":            "use unix://, shm://, tcp:// or quic://",
		"tcp":                              "use unix://, shm://, tcp:// or quic://",
		"tcp://127.0.0.1:1":                "nobody listens at tcp://127.0.0.1:1",
		"shm:":                             "shm:",
		"unix:///does/not/exist":           "nobody listens at unix:///does/not/exist",
		"quic://127.0.0.1:1":               "does not pin",
		"quic://127.0.0.1:1?sha256=" + pin: "nobody answers",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := transport.URL(ctx, url)
		cancel()
		require.ErrorContains(t, err, want)
	}
}
