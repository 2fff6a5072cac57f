package homeserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines are in the file and the older ones, in order and whole, as many files as are kept and none larger than allowed; also after it is opened again.
func TestAuditLogIsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	var want []string
	for begin := range 4 {
		a, err := openAudit(path, 100, 3)
		require.NoError(t, err)
		for i := range 10 {
			line := fmt.Sprintf("line %d of %d%s\n", i, begin, strings.Repeat(".", i))
			want = append(want, line)
			_, err := a.Write([]byte(line))
			require.NoError(t, err)
		}
		require.NoError(t, a.Close())
	}
	got := ""
	for i := 3; i >= 0; i-- {
		text, err := os.ReadFile((&auditLog{path: path}).older(i))
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 100)
		require.True(t, i == 0 || len(text) > 70, "it was full")
		got += string(text)
	}
	require.True(t, strings.HasSuffix(strings.Join(want, ""), got), "the newest lines are there, in order and whole: %s", got)
	require.NoFileExists(t, path+".4")
}

// A line that is longer than a file may be has a file of its own. What a tool has truncated goes on, and where the files cannot be moved on the line is written all the same.
func TestAuditLogOnBadDays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	a, err := openAudit(path, 20, 1)
	require.NoError(t, err)
	write := func(line string) error {
		n, err := a.Write([]byte(line + "\n"))
		require.Equal(t, len(line)+1, n)
		return err
	}
	holds := func(path, want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	require.NoError(t, write(strings.Repeat("x", 30)))
	require.NoError(t, write("short"))
	holds(path+".1", strings.Repeat("x", 30)+"\n")
	require.NoError(t, os.Truncate(path, 0))
	require.NoError(t, write(strings.Repeat("y", 18)))
	holds(path, strings.Repeat("y", 18)+"\n")
	require.NoError(t, os.Remove(path+".1"))
	require.NoError(t, os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700))
	require.ErrorContains(t, write("last"), "free "+path+".1")
	holds(path, strings.Repeat("y", 18)+"\nlast\n")
	require.NoError(t, a.Close())
}
