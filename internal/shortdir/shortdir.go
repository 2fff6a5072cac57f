// Package shortdir gives a test a directory for its sockets: the path of a socket has at most about 100 bytes, and that of
// t.TempDir grows with the path of the project and the name of the test.
package shortdir

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Make makes a directory with a short path. It is removed when the test ends.
func Make(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ms")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}
