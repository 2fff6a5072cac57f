// Package golden compares what a test has made with a file in testdata that was reviewed. `go test ./ROOM -rewrite`
// writes the files anew; read the diff before you commit it.
//
// Only tests import it: it adds the flag -rewrite to their binary.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew instead of comparing with them; then read the diff")

// Rewrite reports whether the files are to be written anew.
func Rewrite() bool { return *rewrite }

// Equal fails the test unless the file at path holds got. With -rewrite it writes the file, and its folder, first.
func Equal(t testing.TB, path, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -rewrite, and read what it writes")
	require.Equal(t, string(want), got, "%s: run the test with -rewrite, and read the diff", path)
}
