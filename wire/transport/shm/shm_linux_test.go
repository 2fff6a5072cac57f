package shm

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/wire"
	"metasim/wire/transport/transporttest"
)

// TestMain is also the main function of the processes that tests and benchmarks start: see child.
func TestMain(m *testing.M) {
	if play, ok := plays[os.Getenv(playVariable)]; ok {
		play(os.Getenv(urlVariable))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	transporttest.Run(t, transporttest.Transport{
		Listen: func(t *testing.T) wire.Listener { return listen(t, socketURL(t)) },
		Dial:   func(ctx context.Context, l wire.Listener) (wire.Conn, error) { return dialURL(ctx, l.URL()) },
		Raw: func(t *testing.T, url string) transporttest.Raw {
			c, err := dial(t.Context(), url, ringSize)
			require.NoError(t, err)
			return raw{c}
		},
	})
}

// A raw is a peer that writes any bytes into its ring.
type raw struct{ *conn }

// Kill is the same as Close: TestKilledPeer kills a real process.
func (r raw) Kill() { _ = r.Close() } // it may be closed already

// socketURL is the URL of a socket in a directory whose name is short enough, and which is empty at the end.
func socketURL(t testing.TB) string {
	dir, err := os.MkdirTemp("", "ms")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.Remove(dir), "something was left behind") })
	return "shm://" + filepath.Join(dir, "s")
}

func listen(t testing.TB, url string) wire.Listener {
	t.Helper()
	l, err := listenURL(url)
	require.NoError(t, err)
	return l
}
