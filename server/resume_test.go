package server_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	records "metasim/record/journal"
	"metasim/server"
)

// kept is a journal in memory, as a server.Resume.
type kept struct {
	reader  *records.Reader
	missing int // effects of the last entry
}

func (k *kept) Next() (int64, metasim.Event, int, error) {
	e, err := k.reader.Next()
	if errors.As(err, new(*records.TornError)) {
		err = io.EOF
	}
	return e.Wall, e.Event, len(e.Effects), err
}

func (k *kept) Continue(missing []metasim.Effect) error {
	k.missing = len(missing)
	return nil
}

// pingPong is the journal of a run of two clients that answer one another so many times, and then nothing more. It has three inputs a
// message.
func pingPong(tb testing.TB, messages int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := records.NewWriter(&out)
	d, err := metasim.New(metasim.Config{Clients: []string{"a", "b"}, MaxSteps: 1 << 31})
	require.NoError(tb, err)
	given := [2]metasim.Deliver{}
	inputs := int64(0)
	step := func(ev metasim.Event) {
		var effects []metasim.Effect
		if inputs++; ev == nil {
			effects = d.Settle()
		} else {
			effects = d.Step(ev)
		}
		for _, e := range effects {
			if got, ok := e.(*metasim.Deliver); ok {
				given[got.To] = *got
			}
		}
		require.NoError(tb, w.Observe(inputs, ev, effects))
	}
	for id, channel := range []string{"A", "B"} {
		step(&metasim.Join{Client: metasim.ClientID(id), Publications: []string{channel}, Subscriptions: []string{string("BA"[id])}})
	}
	step(&metasim.Begin{})
	wait := func(id metasim.ClientID) {
		g := &given[id]
		step(&metasim.PollWait{Client: id, Report: metasim.Report{Now: g.Message.Due, NoSendBefore: g.Message.Due, NextEvent: metasim.Infinity, Acked: g.Number},
			Want: metasim.Infinity, Messages: true})
	}
	step(&metasim.Send{Client: 0, Channel: "A", Payload: make([]byte, 64)})
	wait(0)
	wait(1)
	step(nil)
	for i := 1; i < messages; i++ {
		id := metasim.ClientID(i % 2)
		step(&metasim.Send{Client: id, Channel: string("AB"[id]), Sent: given[id].Message.Due, Payload: make([]byte, 64)})
		wait(id)
		step(nil)
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

func resumed(tb testing.TB, b []byte) (*server.Server, *kept) {
	tb.Helper()
	k := &kept{reader: records.NewReader(bytes.NewReader(b), []string{"a", "b"})}
	c := config("a", "b")
	c.Resume, c.Restart, c.Core.MaxSteps = k, &server.Restart{}, 1<<31
	s, err := server.New(c)
	require.NoError(tb, err)
	return s, k
}

// TestResumeStandsWhereItStood: what the journal lacks of the last entry is done again, and said.
func TestResumeStandsWhereItStood(t *testing.T) {
	whole := pingPong(t, 10)
	s, k := resumed(t, whole)
	require.Zero(t, k.missing)
	require.EqualValues(t, 10, s.Result().Totals.Sent)
	require.EqualValues(t, 9, s.Result().Totals.Delivered)
	s, _ = resumed(t, whole[:len(whole)-5])
	require.EqualValues(t, 10, s.Result().Totals.Sent, "the last settling is not there, and is done when the run goes on")
}

// TestResumeOfAnotherJournal: a journal whose effects are others is not continued.
func TestResumeOfAnotherJournal(t *testing.T) {
	k := &kept{reader: records.NewReader(bytes.NewReader(pingPong(t, 10)), []string{"a", "b"})}
	c := config("a", "b")
	c.Resume, c.Restart, c.Core.MaxSteps = k, &server.Restart{}, 3
	_, err := server.New(c)
	require.ErrorContains(t, err, "of the journal has other effects than this metasim comes to; resume the run with the metasim that recorded it")
}

// TestResumeWaitsForItsClients: for as long as for those of a run that begins.
func TestResumeWaitsForItsClients(t *testing.T) {
	c := config("a", "b")
	c.Resume = &kept{reader: records.NewReader(bytes.NewReader(pingPong(t, 10)), []string{"a", "b"})}
	c.Restart, c.StartTimeout = &server.Restart{}, time.Millisecond
	require.EqualError(t, serve(t, c).end(), `client "a" has to be started again and has not joined within 1ms; see that it starts, or raise start_timeout`)
}

// BenchmarkResume: a run of so many inputs is brought to where it stood.
func BenchmarkResume(b *testing.B) {
	const messages = 100_000
	text := pingPong(b, messages)
	b.ResetTimer()
	for b.Loop() {
		resumed(b, text)
	}
	b.ReportMetric(float64(2*messages)*float64(b.N)/b.Elapsed().Seconds(), "inputs/s")
}
