package sweep

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A worker whose coordinator was lost before it gave any order ends, as one does whose orders cease.
func TestAWorkerWithoutOrdersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, orders := io.Pipe()
		require.ErrorIs(t, Work(t.Context(), in, io.Discard, nil), errNoCoordinator)
		require.NoError(t, orders.Close())
	})
}

// However much a worker writes, little is kept of it: the end.
func TestLastWords(t *testing.T) {
	var w lastWords
	line := []byte(strings.Repeat("a warning ", 100) + "\n")
	for range 1000 {
		n, err := w.Write(line)
		require.NoError(t, err)
		require.Equal(t, len(line), n)
	}
	_, err := w.Write([]byte("the end\n"))
	require.NoError(t, err)
	require.LessOrEqual(t, cap(w.text), 16<<10)
	require.True(t, strings.HasSuffix(string(w.text), "warning \nthe end\n"))
}
