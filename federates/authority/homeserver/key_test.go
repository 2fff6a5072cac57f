package homeserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A homeserver that was killed while it wrote its key for the first time begins with another one, and keeps that.
func TestKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, keyFile)
	require.NoError(t, os.WriteFile(name+".partial", []byte(`{"kty":`), 0o600))
	key, err := openKey(name)
	require.NoError(t, err)
	again, err := openKey(name)
	require.NoError(t, err)
	require.Equal(t, key, again)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
