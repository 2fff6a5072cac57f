package export

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// However long a run is, what is gathered stays small: the horizon follows, past clients that only listen, that only
// answer, and that have left.
func TestTheHorizonFollows(t *testing.T) {
	sc, _, err := scenarios.Parse("test.yaml", []byte(`name: long
clients:
  - {name: idle, model: echo, with: {in: NOTHING, out: NOTHING2}}
  - {name: leaver, model: ping, with: {rounds: 1, out: ONCE, in: PONG}}
  - {name: listener, model: sink, with: {channels: [ONCE]}}
  - {name: pinger, model: ping, with: {rounds: 12000, out: PING, in: PONG}}
  - {name: ponger, model: echo, with: {in: PING, out: PONG}}
links:
  - {delay: 1ms}
  - {to: leaver, delay: 0s}
`), scenarios.Overrides{})
	require.NoError(t, err)
	out, err := run.Scenario(context.Background(), sc, run.Options{Transport: "mem", Out: filepath.Join(t.TempDir(), "run")})
	require.NoError(t, err)
	recorded, err := record.Open(out.RunDir)
	require.NoError(t, err)
	m := recorded.Manifest
	r, err := recorded.OpenJournal()
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()

	total, most := 0, 0
	w := newWalk(m.Clients, everyKind, func(*occurrence) error { total++; return nil })
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.NoError(t, w.take(&entry))
		held := 0
		for i := range w.clients {
			c := &w.clients[i]
			held += c.handled.all.Len() + c.sent.all.Len() + c.lost.all.Len()
		}
		most = max(most, held)
	}
	require.Greater(t, total, 40_000)
	require.LessOrEqual(t, most, minAdded)
}

// A client does nothing before all of: its queued messages, what it promised without a condition, and what it waits for.
func TestHorizonOfAClient(t *testing.T) {
	c := client{queue: newQueue()}
	require.Equal(t, metasim.Start, c.horizon(), "it has said nothing yet")
	report := metasim.Report{Now: metasim.At(3), NoSendBefore: metasim.At(5), NextEvent: metasim.At(4)}
	c.report(&report)
	require.Equal(t, metasim.At(5), c.horizon())
	c.wait(&metasim.PollWait{Want: metasim.At(9), Messages: true})
	require.Equal(t, metasim.At(9), c.horizon())
	c.report(&report)
	c.wait(&metasim.PollWait{Want: metasim.At(8)})
	require.Equal(t, metasim.At(8), c.floor, "no message wakes it")
	c.queue.Push(metasim.Message{Due: metasim.At(6)})
	require.Equal(t, metasim.At(6), c.horizon(), "it has a message to handle")
	c.left = true
	require.Equal(t, metasim.Infinity, c.horizon())
}
