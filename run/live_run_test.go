package run_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/monitor"
	"metasim/run"
)

// A run that hangs can be asked why: at its private socket, on its page, and by who started it. It says where each client
// runs, and what its process said last.
func TestLive(t *testing.T) {
	t.Parallel()
	o := options(t, "mem")
	page, stalled := make(chan string, 1), make(chan string, 100)
	shown := make(chan *monitor.Monitor, 1)
	o.Live = &run.Live{
		HTTP: "127.0.0.1:0", Shown: func(url string) { page <- url },
		Stall: 10 * time.Millisecond, Say: func(text string) { stalled <- text }, Show: func(m *monitor.Monitor) { shown <- m },
	}
	h := hang(t, o)
	require.Equal(t, "commanded", (<-shown).View().Scenario)
	remote, err := monitor.Open(o.Out)
	require.NoError(t, err)
	var why []string
	require.Eventually(t, func() bool {
		why, err = remote.Why(t.Context(), "prog")
		require.NoError(t, err)
		return strings.Contains(why[0], "about to hang")
	}, 10*time.Second, time.Millisecond, "the last line of its output")
	require.Contains(t, why[0], "prog has been initializing for ")
	why, err = remote.Why(t.Context(), "sink")
	require.NoError(t, err)
	require.Contains(t, why[len(why)-1], "prog has been initializing for ")
	require.Contains(t, <-stalled, "nothing was heard for ")

	url, token, _ := strings.Cut(<-page, "#token=")
	require.NotEmpty(t, token)
	answer, err := http.Get(url)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, string(text), "<html")

	_, err = remote.Control(t.Context(), "quit", "")
	require.NoError(t, err)
	out := <-h.done
	require.Contains(t, out.Error, "it was ended by")
	require.NoFileExists(t, filepath.Join(o.Out, monitor.AddressFile))
	_, err = monitor.Open(o.Out)
	require.Error(t, err)
}

// A client that somebody else is to start is one that is waited for.
func TestLiveOutside(t *testing.T) {
	o := options(t, "unix")
	o.Serve = true
	views := make(chan string, 1)
	o.Live = &run.Live{Token: "sesame", Show: func(m *monitor.Monitor) {
		why, err := m.Why(t.Context(), "k")
		if err != nil {
			why = err.Error()
		}
		views <- why
		_, err = m.Control("quit", "")
		if err != nil {
			views <- err.Error()
		}
	}}
	out := fails(t, t.Context(), parse(t, twoSources), o)
	require.Contains(t, out.Error, "it was ended by")
	require.Contains(t, <-views, "k ")
}
