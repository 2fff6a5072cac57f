package server_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	records "metasim/record/journal"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/session"
)

// kept is a journal in memory, as a server.Resume.
type kept struct {
	records.Matcher
	reader  *records.Reader
	missing int // effects of the last entry
}

func inputs(r io.Reader, clients []string) *records.Reader {
	reader := records.NewReader(r, clients)
	reader.SkipEffects()
	return reader
}

func (k *kept) Next() (int64, metasim.Event, []byte, error) {
	e, err := k.reader.Next()
	if errors.As(err, new(*records.TornError)) {
		err = io.EOF
	}
	return e.Wall, e.Event, k.reader.Recorded(), err
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
	k := &kept{reader: inputs(bytes.NewReader(b), []string{"a", "b"})}
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
	k := &kept{reader: inputs(bytes.NewReader(pingPong(t, 10)), []string{"a", "b"})}
	c := config("a", "b")
	c.Resume, c.Restart, c.Core.MaxSteps = k, &server.Restart{}, 3
	_, err := server.New(c)
	require.ErrorContains(t, err, "of the journal has other effects than this metasim comes to; resume the run with the metasim that recorded it")
}

// TestResumeFindsAnotherEffect: a journal that has as many effects, of which one is another, is not continued either.
func TestResumeFindsAnotherEffect(t *testing.T) {
	var out bytes.Buffer
	w, r := records.NewWriter(&out), records.NewReader(bytes.NewReader(pingPong(t, 10)), []string{"a", "b"})
	changed := false
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		for _, effect := range e.Effects {
			if a, ok := effect.(*metasim.Authorize); ok && !changed && a.Until != metasim.Infinity {
				a.Until.Step++
				changed = true
			}
		}
		require.NoError(t, w.Observe(e.Wall, e.Event, e.Effects))
	}
	require.NoError(t, w.Close())
	require.True(t, changed)
	c := config("a", "b")
	c.Resume, c.Restart, c.Core.MaxSteps = &kept{reader: inputs(&out, []string{"a", "b"})}, &server.Restart{}, 1<<31
	_, err := server.New(c)
	require.ErrorContains(t, err, "of the journal has other effects than this metasim comes to")
}

// TestResumeWaitsForItsClients: for as long as for those of a run that begins.
func TestResumeWaitsForItsClients(t *testing.T) {
	c := config("a", "b")
	c.Resume = &kept{reader: inputs(bytes.NewReader(pingPong(t, 10)), []string{"a", "b"})}
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

// past is what a client was given and said, in one part.
type past struct{ session.Past }

func (p *past) Next() (*session.Past, bool, error) { return &p.Past, true, nil }
func (p *past) Close() error                       { return nil }

// cutOff is the journal of a paced run that was cut off when it stood at 1 s: a client steps from second to second. It has the past of that client too.
func cutOff(t *testing.T) (*kept, *past) {
	said := &past{}
	var out bytes.Buffer
	w := records.NewWriter(&out)
	d, err := metasim.New(metasim.Config{Clients: []string{"a"}})
	require.NoError(t, err)
	for i, ev := range []metasim.Event{
		&metasim.Permit{}, &metasim.Join{}, &metasim.Begin{}, until(at(0), at(1000)), nil, &metasim.Permit{Until: at(1001)}, nil, until(at(1000), at(2000)), nil,
	} {
		var effects []metasim.Effect
		if ev == nil {
			effects = d.Settle()
		} else {
			effects = d.Step(ev)
		}
		require.NoError(t, w.Observe(int64(i), ev, effects))
		for _, e := range effects { // which the dispatcher uses again
			if a, ok := e.(*metasim.Authorize); ok {
				effects = []metasim.Effect{new(*a)}
			}
		}
		said.Observe(ev, effects)
	}
	require.NoError(t, w.Close())
	return &kept{reader: inputs(&out, []string{"a"})}, said
}

// The clock of a paced run that is resumed begins when its clients are where they were, however long they take to start and to come there.
func TestPaceWaitsForClientsThatReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal, said := cutOff(t)
		c := driven("a")
		c.Resume, c.StartTimeout = journal, time.Hour
		c.Restart = &server.Restart{Past: func(metasim.ClientID, bool) server.Past { return said }}
		r := serve(t, c)
		paced := make(chan error, 1)
		go func() { paced <- server.Pace(t.Context(), r.Server, 1) }()
		pass(time.Minute) // its process starts
		a := r.start(hello("a"))[0]
		a.say(until(at(0), at(1000)))
		for !at(1000).Before(hear[*metasim.Authorize](a).Until) {
		}
		pass(time.Minute) // it computes again what it had computed
		a.say(until(at(1000), at(2000)))
		began := time.Now()
		now := at(1000)
		for _, ms := range []metasim.Time{2000, 2500, 3000} {
			if ms > 2000 {
				a.say(until(now, at(ms)))
			}
			for !at(ms).Before(hear[*metasim.Authorize](a).Until) {
			}
			now = at(ms)
			require.InDelta(t, float64(ms-1001)*1e6, time.Since(began), 2*float64(5*time.Millisecond), "%d ms", ms)
		}
		a.say(&metasim.Leave{Now: now})
		hear[wire.Goodbye](a)
		require.NoError(t, <-paced)
		require.NoError(t, r.end())
	})
}
