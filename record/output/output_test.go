package output_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record/output"
)

// all reads an output as who lists it does; a gap reads as <n>.
func all(t *testing.T, path string) string {
	t.Helper()
	var text strings.Builder
	for position := int64(0); ; {
		folder, err := output.Look(filepath.Dir(path))
		require.NoError(t, err)
		r, at, err := folder.Open(filepath.Base(path), position)
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		require.NoError(t, err)
		if at > position {
			fmt.Fprintf(&text, "<%d>", at-position)
		}
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		text.Write(b)
		position = at + int64(len(b))
	}
}

// Whatever was written, in whatever pieces, the beginning and the end are kept, within the limit, and the gap is known.
func TestLimit(t *testing.T) {
	const limit = 16
	for n := range 60 {
		for piece := 1; piece <= n+1; piece += 7 {
			path := filepath.Join(t.TempDir(), "arm.stdout")
			w, err := output.Create(path, limit)
			require.NoError(t, err)
			var wrote strings.Builder
			for i := range n {
				wrote.WriteByte(byte('A' + i))
			}
			for text := wrote.String(); text != ""; text = text[min(piece, len(text)):] {
				_, err := w.Write([]byte(text[:min(piece, len(text))]))
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())

			got := all(t, path)
			head, rest, gap := strings.Cut(got, "<")
			require.Equal(t, n > limit, gap, got)
			if gap {
				digits, tail, _ := strings.Cut(rest, ">")
				require.Equal(t, wrote.String()[:limit/2], head)
				require.GreaterOrEqual(t, len(tail), limit/4)
				require.True(t, strings.HasSuffix(wrote.String(), tail))
				require.Equal(t, fmt.Sprint(n-len(head)-len(tail)), digits)
			} else {
				require.Equal(t, wrote.String(), got)
			}
			last, more, err := output.Tail(path, 3)
			require.NoError(t, err)
			require.Equal(t, wrote.String()[max(0, n-3):], string(last))
			require.Equal(t, n > 3, more)

			var size int64
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			for _, e := range entries {
				info, err := e.Info()
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
				size += info.Size()
			}
			require.LessOrEqual(t, size, int64(limit))
		}
	}
}

// The two outputs of a client, and those of others whose names begin alike, are kept apart.
func TestNeighbours(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.stdout", "a.stderr", "a.stdout2", "b.stdout"} {
		w, err := output.Create(filepath.Join(dir, name), 4)
		require.NoError(t, err)
		_, err = w.Write([]byte(name))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	require.Equal(t, "a.<4>ut", all(t, filepath.Join(dir, "a.stdout")))
	folder, err := output.Look(dir)
	require.NoError(t, err)
	_, _, err = folder.Open("c.stdout", 0)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// What was listed before an output went on is read as far as it is still kept.
func TestGrowsBehindTheList(t *testing.T) {
	dir := t.TempDir()
	w, err := output.Create(filepath.Join(dir, "a.stdout"), 16)
	require.NoError(t, err)
	write := func(text string) {
		t.Helper()
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	write("01234567ABCD")
	folder, err := output.Look(dir)
	require.NoError(t, err)
	write("EFGHIJKL") // ABCD is left out
	r, at, err := folder.Open("a.stdout", 8)
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, errors.Join(err, r.Close(), w.Close()))
	require.Equal(t, "EFGH", string(b))
	require.EqualValues(t, 12, at)
}
