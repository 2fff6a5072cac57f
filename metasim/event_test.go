package metasim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// keep copies effects, which are lent.
func keep(effects []Effect) []Effect {
	var kept []Effect
	for _, e := range effects {
		switch v := e.(type) {
		case *Queue:
			e = own(*v)
		case *Lose:
			e = own(*v)
		case *Deliver:
			e = own(*v)
		case *Authorize:
			e = own(*v)
		}
		kept = append(kept, e)
	}
	return kept
}

func own[T any](v T) *T { return &v }

// Effects outlive the rest of their batch, and no more: what two events and their Settle returned can be carried out
// together.
func TestEffectsAreLentForABatch(t *testing.T) {
	d := pair(t, 5)
	first := d.Step(&Send{Client: 0, Channel: "X", Payload: []byte("1")})[0]
	second := d.Step(&Send{Client: 0, Channel: "X", Payload: []byte("2")})[0]
	kept := keep([]Effect{first, second})
	for id := range ClientID(2) {
		d.Step(&PollWait{Client: id, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	}
	d.Settle()
	require.Equal(t, kept, []Effect{first, second}, "they are valid until the next batch begins")
	d.Step(&PollWait{Client: 0, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	require.NotEqual(t, kept, []Effect{first, second}, "their memory is used again")
}

// A message costs the core no memory once it is warm: neither the event, nor its way through the queue, nor the effects.
func TestStepAllocatesNothing(t *testing.T) {
	d := pair(t, 5)
	ledger := NewLedger(d.Names())
	now := Start
	send := Send{Client: 0, Channel: "X", Payload: []byte("12345678")}
	wait := PollWait{Client: 0, Messages: false}
	echo := PollWait{Client: 1, Messages: true}
	turn := func() {
		send.Sent = now
		ledger.Observe(&send, d.Step(&send))
		now = now.Add(10)
		wait.Report, wait.Want = Report{Now: send.Sent, NextEvent: now}, now
		ledger.Observe(&wait, d.Step(&wait))
		echo.Report = Report{Now: echo.Now, NextEvent: Infinity, Acked: echo.Acked}
		echo.Want = Infinity
		ledger.Observe(&echo, d.Step(&echo))
		settled := d.Settle()
		ledger.Observe(nil, settled)
		for _, e := range settled {
			if m, ok := e.(*Deliver); ok {
				echo.Now, echo.Acked = m.Message.Due, m.Number
			}
		}
	}
	for range 100 {
		turn()
	}
	delivered := echo.Acked
	require.Zero(t, testing.AllocsPerRun(100, turn))
	require.Greater(t, echo.Acked, delivered, "messages have come")
}

// pair returns a dispatcher of two clients: what 0 publishes on X reaches 1 after the delay.
func pair(t *testing.T, delay Time) *Dispatcher {
	d, err := New(Config{Clients: []string{"a", "b"}, Delays: apart(delay)})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Publications: []string{"X"}})
	d.Step(&Join{Client: 1, Subscriptions: []string{"X"}})
	d.Step(&Begin{})
	return d
}

// Each event says which client it came from, if it came from one.
func TestClientOf(t *testing.T) {
	for _, ev := range []Event{&Join{Client: 3}, &Send{Client: 3}, &Promise{Client: 3}, &Advance{Client: 3}, &PollWait{Client: 3}, &Leave{Client: 3}} {
		id, from := ClientOf(ev)
		require.True(t, from, "%T", ev)
		require.Equal(t, ClientID(3), id, "%T", ev)
	}
	for _, ev := range []Event{&Begin{}, &Permit{}, &Credit{}, nil} {
		_, from := ClientOf(ev)
		require.False(t, from, "%T", ev)
	}
}

// What a client was given before a run was cut off counts on: the next delivery has the next number, and only that can be acknowledged.
func TestWindowGoesOn(t *testing.T) {
	var w Window
	w.Skip(7)
	require.Equal(t, uint64(7), w.Acked())
	require.Equal(t, uint64(8), w.Give(At(1), 10))
	require.False(t, w.Acknowledge(9))
	require.True(t, w.Acknowledge(8))
	require.Equal(t, uint64(8), w.Acked())
}
