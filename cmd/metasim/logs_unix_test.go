//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that writes without end fills no disk. Its first words and its last are kept.
func TestOutputLimit(t *testing.T) {
	s := raced(t)
	s.file("c.yaml", withShell("seq 1000000; echo to the end >&2; exit 3", "output_limit: 64KiB"))
	o, e := s.run("c.yaml")
	require.Equal(t, 1, e.status)
	require.Contains(t, o.Error, "| to the end")
	var size int64
	files, err := os.ReadDir(filepath.Join(s.dir, o.RunDir, "clients"))
	require.NoError(t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		size += info.Size()
	}
	require.LessOrEqual(t, size, int64(64<<10))

	e = s.metasim("logs", o.RunDir)
	require.Equal(t, 0, e.status)
	require.True(t, strings.HasPrefix(e.out, "ponger | 1\nponger | 2\n"))
	require.True(t, strings.HasSuffix(e.out, "\nponger | 999999\nponger | 1000000\nponger ! to the end\n"))
	require.Equal(t, 1, strings.Count(e.out, "bytes are left out: see output_limit"))
	e = s.metasim("logs", o.RunDir, "ponger", "--json")
	require.Contains(t, e.out, `{"client":"ponger","stream":"stderr","line":"to the end"}`)
	require.Contains(t, e.out, `"left_out":`)

	e = s.metasim("logs", o.RunDir, "pinger")
	require.Equal(t, 0, e.status)
	require.Empty(t, e.out)
	require.Contains(t, e.err, "note: no process of the run wrote anything")
	e = s.metasim("logs", o.RunDir, "punger")
	require.Equal(t, 2, e.status)
	e.says(t, `no client "punger"`, "pinger")
	s.clean()
}

// What a client writes can be read while it writes, and nothing of it commands the terminal.
func TestFollowLogs(t *testing.T) {
	s := raced(t)
	script := `printf 'one\033[2J\n'; until test -e go; do sleep 0.01; done; printf two; exit 3`
	s.file("c.yaml", withShell(script, "start_timeout: 1m"))
	p := s.start(nil, "run", "c.yaml", "--out", "out")
	socket := filepath.Join(s.dir, "out", "live.json")
	require.Eventually(t, func() bool { _, err := os.Stat(socket); return err == nil }, patience/2, 5*time.Millisecond)
	follow := s.start(nil, "logs", "out", "-f")
	require.Eventually(t, func() bool { return follow.out.String() == "ponger | one\n" }, patience/2, 5*time.Millisecond)
	s.file("go", "")
	require.Equal(t, 1, p.wait().status)
	e := follow.wait()
	require.Equal(t, 0, e.status)
	require.Equal(t, "ponger | one\nponger | two\n", e.out)
	s.clean()
}
