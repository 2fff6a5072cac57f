package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/atomicfile"
)

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// The old content stays until Commit, and after Discard for good.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	require.NoError(t, atomicfile.Write(path, []byte("old"), 0o600))
	f, err := atomicfile.Create(path, 0o600)
	require.NoError(t, err)
	require.Equal(t, path, f.Path())
	_, err = f.WriteString("new")
	require.NoError(t, err)
	require.Equal(t, "old", content(t, path))
	require.NoError(t, f.Discard())
	require.NoError(t, f.Discard())
	require.Equal(t, "old", content(t, path))
	require.Equal(t, []string{"x"}, names(t, dir))

	f, err = atomicfile.Create(path, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString("new")
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	require.NoError(t, f.Discard(), "nothing is left to discard")
	require.Equal(t, "new", content(t, path))
	require.Equal(t, []string{"x"}, names(t, dir))
}

// WriteSync leaves one whole file, or the old one.
func TestWriteSync(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	for _, text := range []string{"old", "new"} {
		require.NoError(t, atomicfile.WriteSync(path, []byte(text), 0o600))
		require.Equal(t, text, content(t, path))
		require.Equal(t, []string{"x"}, names(t, dir))
	}
	require.ErrorIs(t, atomicfile.WriteSync(filepath.Join(dir, "none", "x"), nil, 0o600), os.ErrNotExist)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "y", "full"), 0o755))
	require.Error(t, atomicfile.WriteSync(filepath.Join(dir, "y"), nil, 0o600))
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, atomicfile.Write(filepath.Join(dir, "none", "x"), nil, 0o600), os.ErrNotExist)

	path := filepath.Join(dir, "x")
	f, err := atomicfile.Create(path, 0o600)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Commit(), os.ErrClosed)
	require.Empty(t, names(t, dir))

	f, err = atomicfile.Create(path, 0o600)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(path, "full"), 0o755)) // a name that cannot be replaced
	require.Error(t, f.Commit())
	require.Equal(t, []string{"x"}, names(t, dir))
}

// What is not an ordinary file is neither replaced nor removed.
func TestDirect(t *testing.T) {
	require.NoError(t, atomicfile.Write(os.DevNull, []byte("gone"), 0o600))
	f, err := atomicfile.Create(os.DevNull, 0o600)
	require.NoError(t, err)
	require.NoError(t, f.Discard())
	_, err = os.Stat(os.DevNull)
	require.NoError(t, err)
}
