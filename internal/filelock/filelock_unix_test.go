//go:build unix

package filelock_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/filelock"
)

// A process that is being started has the file too, for a moment: the lock is given up all the same.
func TestClose(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		return f
	}
	first, second := open(), open()
	require.True(t, filelock.Take(first))
	require.False(t, filelock.Take(second))
	child, err := syscall.Dup(int(first.Fd()))
	require.NoError(t, err)
	require.NoError(t, filelock.Close(first))
	require.True(t, filelock.Take(second))
	require.NoError(t, syscall.Close(child))
	require.NoError(t, filelock.Close(second))
}
