package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The last line is that of the output that was written to last; of one who has ended, the standard error comes first.
func TestLastOutput(t *testing.T) {
	synctest.Test(t, lastOutput) // no time passes while a disk is read, however busy this machine is
}

func lastOutput(t *testing.T) {
	dir := t.TempDir()
	p := process{stdout: filepath.Join(dir, "o"), stderr: filepath.Join(dir, "e")}
	write := func(file, text string, at int64) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.Chtimes(file, time.Time{}, time.Unix(at, 0)))
	}
	write(p.stdout, "", 1)
	write(p.stderr, "", 2)
	require.Empty(t, p.lastLine())
	require.Empty(t, p.lastOutput())
	write(p.stdout, "frame 1\n  frame 2\n \n\n", 1)
	require.Equal(t, "frame 2", p.lastLine(), "the standard error is younger, but empty")
	require.Equal(t, []string{"frame 1", "  frame 2"}, p.lastOutput())
	write(p.stderr, "a warning\n", 2)
	require.Equal(t, "a warning", p.lastLine())
	write(p.stdout, "frame 3", 3)
	require.Equal(t, "frame 3", p.lastLine())
	require.Equal(t, []string{"a warning"}, p.lastOutput())
	write(p.stderr, strings.Repeat("word ", 10_000), 4)
	require.Len(t, []rune(p.lastLine()), maxLine)
	require.True(t, strings.HasPrefix(p.lastLine(), "…"), "the beginning of the line is left out")
	write(p.stderr, strings.Repeat("line\n", 10_000), 4)
	require.Len(t, p.lastOutput(), lastLines)
}
