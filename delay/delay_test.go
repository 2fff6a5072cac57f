package delay

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files instead of comparing with them; then read the diff")

const (
	us = metasim.Microsecond
	ms = metasim.Millisecond
)

// single returns the link from "a" to "b" on "C" where every link has this spec.
func single(t testing.TB, seed uint64, spec Spec) metasim.Link {
	t.Helper()
	table, err := NewTable(seed, []Rule{{Spec: spec}})
	require.NoError(t, err)
	return table.Link("a", "b", "C")
}

// delays sends n messages of no bytes at the start, and returns how long each copy of each took.
func delays(l metasim.Link, n int) [][]metasim.Time {
	all := make([][]metasim.Time, n)
	for i := range all {
		for _, due := range l.Transit(nil, uint64(i), metasim.Start, 0) {
			all[i] = append(all[i], due.Time)
		}
	}
	return all
}

// floats returns the first copies of the first n messages in nanoseconds, for statistics.
func floats(l metasim.Link, n int) []float64 {
	all := make([]float64, n)
	for i, d := range delays(l, n) {
		all[i] = float64(d[0])
	}
	return all
}

// losses returns for each of the first n messages whether it is lost.
func losses(l metasim.Link, n int) []bool {
	all := make([]bool, n)
	for i, d := range delays(l, n) {
		all[i] = len(d) == 0
	}
	return all
}

// golden compares text with a file of testdata, or writes it there.
func golden(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "draws moved: every recorded digest with such a link is void")
}
