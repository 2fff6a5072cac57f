package sweep

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"metasim/run/launch"
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

// sleepers are workers that hear of nothing, as on a host that was lost, and end by themselves much later.
type sleepers struct{ launch.Launcher }

func (sleepers) Command(string, string, ...string) []string { return []string{"sleep", "4"} }

// At the end of a sweep nobody waits for a worker that was silent for so long that others took its runs.
func TestSilentWorkersAreEnded(t *testing.T) {
	c := &coordinator{options: &Cluster{}, job: sleepers{}, hosts: []string{"n1"}, news: make(chan news, 1)}
	m := &member{}
	c.workers = []*member{m}
	c.start(m)
	require.NoError(t, c.failure)
	m.silent = beats + 1
	c.end()
	require.Equal(t, "signal: killed", m.cmd.ProcessState.String())
}
