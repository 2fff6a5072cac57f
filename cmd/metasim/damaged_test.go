package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// good is a run that metasim has left: two sources of messages, one that answers, losses, and one client that leaves early.
const good = "testdata/damaged/good"

// damaged makes a run whose journal was changed by a recipe: its checksums are right, and its content is not.
func damaged(t testing.TB, recipe []byte) string {
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.CopyFS(dir, os.DirFS(good)))
	whole, err := os.ReadFile(filepath.Join(good, "journal"))
	require.NoError(t, err)
	changed, err := damageJournal(whole, recipe)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal"), changed, 0o644))
	return dir
}

// readers are the commands that read a run, with what they write in a directory.
func readers(run, files string) [][]string {
	all := [][]string{
		{"log", run}, {"log", run, "--json", "--client", "all"},
		{"log", run, "--lcm", filepath.Join(files, "sent"), "--mcap", filepath.Join(files, "mcap")},
		{"log", run, "--lcm", filepath.Join(files, "delivered"), "--delivered", "--client", "echo"},
		{"diff", good, run}, {"diff", run, good, "--json"},
		{"report", run, "--html", filepath.Join(files, "html"), "--perfetto", filepath.Join(files, "perfetto"), "--what-if", "cores=8"},
		{"replay", run},
	}
	for _, client := range []string{"a", "all", "echo", "hasty"} {
		all = append(all, []string{"replay", run, "--client", client})
	}
	return all
}

// read runs a reader in this process: it ends soon, and a failure is told.
func read(t testing.TB, args []string) (status int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- execute(context.Background(), args, streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	}()
	select {
	case status = <-done:
	case <-time.After(20 * time.Second):
		panic(fmt.Sprint("metasim ", args, " hangs")) // with all stacks
	}
	require.True(t, status == 0 || stderr.Len() > 0 || stdout.Len() > 0, "metasim %v: status %d without a word", args, status)
	return status, stdout.String(), stderr.String()
}

// TestDamagedRun: what is wrong in a record, behind its checksum, is one sentence that names the file and the record.
func TestDamagedRun(t *testing.T) {
	for says, recipe := range map[string]string{
		`client "echo" takes part before`:  "\x00\xa5\x04\xc0\xa4\xb0\x4a\x2b\xbf\x7f\xba\xd0\x3d\x82\xea\xa0\x70\x36\x6f\x9b\x9f",
		"9223372036854775807 ns after":     "\x00\x00\x1e\x00\x00\x01\x00\x07",
		"a message that is due at forever": "\x00\x00\x37\x01\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00\x07",
		"nothing says that the run ended":  "\x06\x00\x20",
	} {
		run := damaged(t, []byte(recipe))
		for _, args := range [][]string{
			{"log", run}, {"log", run, "--json"}, {"log", run, "--lcm", "-"}, {"log", run, "--mcap", "-"}, {"report", run}, {"report", run, "--json"},
			{"replay", run}, {"replay", run, "--client", "echo"},
		} {
			status, out, err := read(t, args)
			want := asRecorded
			if args[0] == "replay" && !strings.HasPrefix(out, "the same: ") { // the client had not joined before the end
				want = 1
			}
			require.Equal(t, want, status, "%v: %s%s", args, out, err)
			require.Contains(t, err, says)
			require.Contains(t, err, run)
			words := 1 // and how much was exported
			if len(args) > 3 && args[3] == "-" {
				words = 2
			}
			require.Equal(t, words, strings.Count(err, "\n"), err)
		}
	}
	for _, args := range readers(good, t.TempDir()) {
		status, _, err := read(t, args)
		require.Zero(t, status, "%v: %s", args, err)
	}
}

// FuzzReaders reads runs whose journals were changed: no reader panics, hangs, or fails without a word.
func FuzzReaders(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, recipe []byte) {
		if len(recipe) > 60 {
			return
		}
		run, files := damaged(t, recipe), t.TempDir()
		for _, args := range readers(run, files) {
			read(t, args)
		}
	})
}
