package all_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/internal/shortdir"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/all"
)

// TestMain is also the main function of a process that a test starts: see victim.
func TestMain(m *testing.M) {
	if url := os.Getenv(victimOf); url != "" {
		fmt.Fprintln(os.Stderr, victim(url))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// Every transport listens at a place of its own choosing, and is reached by the URL that its listener gives.
func TestListen(t *testing.T) {
	t.Setenv("TMPDIR", shortdir.Make(t))
	for _, one := range all.Table() {
		t.Run(one.Scheme, func(t *testing.T) {
			l, err := all.Table().Listen(one.Scheme, "")
			require.NoError(t, err)
			require.Equal(t, one.Private, l.Private)
			if one.Scheme == "shm" && runtime.GOOS != "linux" {
				require.ErrorIs(t, l.Unsupported, errors.ErrUnsupported)
			} else {
				require.NoError(t, l.Unsupported)
				require.Contains(t, l.URL(), one.Scheme+"://")
			}
			exchange(t, l)
			require.NoError(t, l.Close())
			left, err := os.ReadDir(os.Getenv("TMPDIR"))
			require.NoError(t, err)
			require.Empty(t, left, "a temporary directory goes with its listener")
		})
	}
}

// An address may be given: a path that is relative, or has characters which mean something in a URL.
func TestListenAddress(t *testing.T) {
	dir := shortdir.Make(t)
	t.Chdir(dir)
	for _, one := range all.Table() {
		address := "a b%20#"
		if !one.Private {
			address = "127.0.0.1:0"
		}
		t.Run(one.Scheme, func(t *testing.T) {
			l, err := all.Table().Listen(one.Scheme, address)
			require.NoError(t, err)
			if one.Private {
				require.FileExists(t, filepath.Join(dir, address))
			}
			exchange(t, l)
			require.NoError(t, l.Close())
			require.NoError(t, l.Close(), "a server may have closed it")
		})
	}
}

// What cannot be opened leaves nothing behind.
func TestListenFails(t *testing.T) {
	t.Setenv("TMPDIR", shortdir.Make(t))
	failing := transport.Table{
		{Scheme: "new", Private: true, Fallback: "old", Listen: func(string) (wire.Listener, error) { return nil, errors.ErrUnsupported }},
		{Scheme: "old", Private: true, Listen: func(string) (wire.Listener, error) { return nil, os.ErrPermission }},
		{Scheme: "odd", Listen: func(string) (wire.Listener, error) { return nil, errors.ErrUnsupported }},
	}
	_, err := failing.Listen("new", "")
	require.ErrorIs(t, err, os.ErrPermission)
	_, err = failing.Listen("odd", "")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	var unknown *transport.UnknownError
	_, err = failing.Listen("none", "")
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []string{"new", "old", "odd"}, unknown.Schemes)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A transport that the system does not support gives way to its fallback, and says so.
func TestFallback(t *testing.T) {
	table := all.Table()
	table[len(table)-1].Listen = func(string) (wire.Listener, error) { return nil, errors.ErrUnsupported }
	l, err := table.Listen("shm", "")
	require.NoError(t, err)
	require.ErrorIs(t, l.Unsupported, errors.ErrUnsupported)
	require.Contains(t, l.URL(), "unix://")
	exchange(t, l)
	require.NoError(t, l.Close())
}

// exchange sends a packet from a client to a server that accepts it.
func exchange(t *testing.T, l wire.Listener) {
	t.Helper()
	client, err := all.Table().Dial(t.Context(), l.URL())
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
}

func TestErrors(t *testing.T) {
	schemes := all.Table().Schemes()
	last := len(schemes) - 1
	use := "use " + strings.Join(schemes[:last], "://, ") + ":// or " + schemes[last] + "://"
	const pin = "0000000000000000000000000000000000000000000000000000000000000000"
	for url, want := range map[string]string{
		"":                                 "set METASIM_SERVER",
		"mem:":                             use,
		"localhost:4000":                   use,
		"http://localhost:4000":            use,
		"tcp":                              use,
		"tcp://127.0.0.1:1":                "nobody listens at tcp://127.0.0.1:1",
		"shm:":                             "use shm:///path",
		"unix:///does/not/exist":           "nobody listens at unix:///does/not/exist",
		"quic://127.0.0.1:1":               "does not pin",
		"quic://127.0.0.1:1?sha256=" + pin: "nobody answers",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := all.Table().Dial(ctx, url)
		cancel()
		require.ErrorContains(t, err, want)
	}
	_, err := all.Table().Listen("http", "localhost:0")
	require.ErrorContains(t, err, use)
}
