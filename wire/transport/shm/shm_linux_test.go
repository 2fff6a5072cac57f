package shm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/wire"
)

// TestMain is also the main function of the processes that tests and benchmarks start: see child.
func TestMain(m *testing.M) {
	if play, ok := plays[os.Getenv(playVariable)]; ok {
		play(os.Getenv(urlVariable))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

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
