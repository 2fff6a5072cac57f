package journal

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// TestAJournalGivesTheSameDigest runs three clients that pass messages on over links that lose and duplicate, and
// demands of the journal the same books, and of a second dispatcher fed from it the same effects.
func TestAJournalGivesTheSameDigest(t *testing.T) {
	config := metasim.Config{Clients: []string{"a", "b", "c"}, Delays: rough{}, Until: 1000}
	var buf bytes.Buffer
	w := NewWriter(&buf)
	live := metasim.NewLedger(config.Clients)
	var last metasim.Effect
	drive(t, config, func(ev metasim.Event, effs []metasim.Effect) {
		live.Observe(ev, effs)
		require.NoError(t, w.Observe(0, ev, effs))
		if len(effs) > 0 {
			last = effs[len(effs)-1]
		}
	})
	require.NoError(t, w.Close())
	require.Equal(t, &metasim.Finish{}, last, "the run ended well")
	require.Greater(t, live.Totals().Delivered, uint64(100))
	require.Positive(t, live.Totals().Dropped)
	require.Positive(t, live.Totals().Undelivered)

	entries, err := read(buf.Bytes())
	require.NoError(t, err)
	again := metasim.NewLedger(config.Clients)
	replay, err := metasim.New(config)
	require.NoError(t, err)
	for _, e := range entries {
		again.Observe(e.Event, e.Effects)
		var effs []metasim.Effect
		if e.Event != nil {
			effs = replay.Step(e.Event)
		} else {
			effs = replay.Settle()
		}
		require.Equal(t, clean(e.Effects), clean(effs))
	}
	assert.Equal(t, live.Digest(), again.Digest())
	assert.Equal(t, live.Totals(), again.Totals())
	for i := range config.Clients {
		assert.Equal(t, live.Account(metasim.ClientID(i)), again.Account(metasim.ClientID(i)))
	}
}

// clean returns effects without what means nothing.
func clean(effs []metasim.Effect) (all []string) {
	for _, e := range effs {
		switch v := e.(type) {
		case *metasim.Lose:
			lose := *v
			lose.Message.Due, e = metasim.Start, &lose
		case *metasim.Authorize:
			e = &metasim.Authorize{To: v.To, Until: v.Until}
		}
		all = append(all, fmt.Sprintf("%T%v", e, e))
	}
	return all
}

// rough is a delay of 3 ns with losses and duplicates.
type rough struct{}

func (rough) Link(string, string, string) metasim.Link   { return rough{} }
func (rough) Min() metasim.Time                          { return 3 }
func (rough) Earliest(x metasim.Instant) metasim.Instant { return x.Add(3) }
func (rough) Transit(dues []metasim.Instant, n uint64, sent metasim.Instant, _ int) []metasim.Instant {
	switch {
	case n%7 == 3:
		return dues
	case n%5 == 2:
		return append(dues, sent.Add(4), sent.Add(40))
	}
	return append(dues, sent.Add(3))
}

// drive runs clients that send each message they get on its way again, b once leaving early.
func drive(t *testing.T, config metasim.Config, observe func(metasim.Event, []metasim.Effect)) {
	d, err := metasim.New(config)
	require.NoError(t, err)
	var todo []metasim.Event
	mail := make([][]metasim.Deliver, len(config.Clients))
	for i, name := range config.Clients {
		todo = append(todo, &metasim.Join{Client: metasim.ClientID(i), Publications: []string{name},
			Subscriptions: []string{string("bca"[i])}})
	}
	todo = append(todo, &metasim.Begin{})
	for i, name := range config.Clients {
		id := metasim.ClientID(i)
		for n := range 3 {
			todo = append(todo, &metasim.Send{Client: id, Channel: name, Payload: []byte{byte(i), byte(n)}})
		}
		todo = append(todo, poll(id, metasim.Start, 0))
	}
	for len(todo) > 0 {
		for _, ev := range todo {
			observe(ev, d.Step(ev))
		}
		todo = nil
		effs := d.Settle()
		observe(nil, effs)
		for _, e := range effs {
			switch e := e.(type) {
			case *metasim.Deliver:
				mail[e.To] = append(mail[e.To], *e)
			case *metasim.Authorize:
				todo = append(todo, react(config.Clients[e.To], e, mail[e.To], d.End())...)
				mail[e.To] = nil
			}
		}
	}
}

// react is what a client does with its mail once it may.
func react(name string, e *metasim.Authorize, mail []metasim.Deliver, end metasim.Instant) (evs []metasim.Event) {
	now, acked := metasim.Start, uint64(0)
	for _, m := range mail {
		now, acked = m.Message.Due, m.Number
		evs = append(evs, &metasim.Send{Client: e.To, Channel: name, Sent: now, Payload: m.Message.Payload})
		if name == "b" && now.Time > 500 {
			return append(evs, &metasim.Leave{Client: e.To, Now: now, Acked: acked, Result: []byte(`{"left":"early"}`)})
		}
	}
	if e.Until == end {
		return append(evs, &metasim.Leave{Client: e.To, Now: metasim.At(end.Time - 1), Acked: acked})
	}
	return append(evs, poll(e.To, now, acked))
}

func poll(id metasim.ClientID, now metasim.Instant, acked uint64) metasim.Event {
	return &metasim.PollWait{Client: id, Report: metasim.Report{Now: now, NextEvent: metasim.Infinity, Acked: acked},
		Want: metasim.Infinity, Messages: true}
}
