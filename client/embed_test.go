package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A simulator in a module of its own links what unix, tcp and shm need, and no more.
func TestEmbedderIsSmall(t *testing.T) {
	const most = 8_000_000 // bytes, stripped
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	program, err := os.ReadFile(filepath.Join("testdata", "embedder.go.txt"))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"main.go": string(program),
		"go.mod":  "module embedder\n\ngo 1.26\n\nrequire metasim v0.0.0\n\nreplace metasim => " + root + "\n",
		"go.sum":  string(sums),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	command := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s: %s", strings.Join(args, " "), out)
		return string(out)
	}
	linked := strings.Fields(command("list", "-deps", "."))
	for _, heavy := range []string{"github.com/quic-go/quic-go", "crypto/tls", "net/http", "encoding/xml", "html/template"} {
		require.NotContains(t, linked, heavy)
	}
	require.Contains(t, linked, "metasim/client")
	binary := filepath.Join(dir, "embedder")
	command("build", "-ldflags=-s -w", "-o", binary, ".")
	built, err := os.Stat(binary)
	require.NoError(t, err)
	t.Logf("%d bytes", built.Size())
	require.LessOrEqual(t, built.Size(), int64(most))
}
