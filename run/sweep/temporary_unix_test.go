//go:build unix

package sweep

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/filelock"
)

// What a worker that was killed has left is removed by the next one: the lock of a dead process is nobody's. What is in use stays, and so does what is about to
// be, and what is no directory of a worker.
func TestWorkersSweepUp(t *testing.T) {
	root := t.TempDir()
	make := func(name, file string, age time.Duration) string {
		dir := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "1-1"), 0o700))
		if file != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		when := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(dir, when, when))
		return dir
	}
	used, lock, err := temporary(root)
	require.NoError(t, err)
	killed := make("metasim-sweep-killed", lockName, 0)
	older := make("metasim-sweep-older", "", time.Hour) // of a metasim that had no locks
	young := make("metasim-sweep-young", "", 0)
	other := make("metasim-else", lockName, time.Hour)
	file := filepath.Join(root, "metasim-sweep-file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	own, ownLock, err := temporary(root)
	require.NoError(t, err)
	require.NoDirExists(t, killed)
	require.NoDirExists(t, older)
	for _, dir := range []string{used, young, other, own} {
		require.DirExists(t, dir)
	}
	require.FileExists(t, file)
	require.NoError(t, filelock.Close(lock))
	third, thirdLock, err := temporary(root)
	require.NoError(t, err)
	require.NoDirExists(t, used)
	require.DirExists(t, third)
	require.NoError(t, filelock.Close(ownLock))
	require.NoError(t, filelock.Close(thirdLock))
}
