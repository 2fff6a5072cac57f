package metasim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// apart is a Delays in which every link takes the same time.
type apart Time

func (a apart) Link(string, string, string) Link { return constant(a) }

type constant Time

func (c constant) Min() Time                  { return Time(c) }
func (c constant) Steady() bool               { return true }
func (c constant) Earliest(x Instant) Instant { return x.Add(Time(c)) }
func (c constant) Transit(dues []Instant, _ uint64, sent Instant, _ int) []Instant {
	return append(dues, sent.Add(Time(c)))
}

// A ping and its echo, by hand: the smallest run there is.
func TestPingPong(t *testing.T) {
	d, err := New(Config{Clients: []string{"pong", "ping"}, Delays: apart(5)})
	require.NoError(t, err)
	ledger := NewLedger(d.Names())
	step := func(ev Event) []Effect {
		effects := keep(d.Step(ev))
		ledger.Observe(ev, effects)
		return effects
	}
	settle := func() []Effect {
		effects := keep(d.Settle())
		ledger.Observe(nil, effects)
		return effects
	}
	const ping, pong = ClientID(0), ClientID(1)
	step(&Join{Client: pong, Publications: []string{"PONG"}, Subscriptions: []string{"PI.G"}})
	step(&Join{Client: ping, Publications: []string{"PING"}, Subscriptions: []string{"PONG"}})
	step(&Begin{})
	m := Message{From: ping, Channel: "PING", Due: At(5), Payload: []byte("x")}
	require.Equal(t, []Effect{&Queue{To: pong, Message: m}}, step(&Send{Client: ping, Channel: "PING", Payload: []byte("x")}))
	require.Empty(t, settle(), "the epsilon tick is not over")
	step(&PollWait{Client: ping, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	require.Empty(t, settle(), "pong has not initialized")
	step(&PollWait{Client: pong, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	require.Equal(t, []Effect{
		&Deliver{To: pong, Number: 1, Message: m},
		&Authorize{To: pong, Until: At(15), QuietUntil: Infinity}, // ping answers its answer, due at 10, at the earliest
	}, settle())
	answer := Message{From: pong, Channel: "PONG", Sent: At(5), Due: At(10), Payload: []byte("y")}
	require.Equal(t, []Effect{&Queue{To: ping, Message: answer}},
		step(&Send{Client: pong, Channel: "PONG", Sent: At(5), Payload: []byte("y")}))
	step(&PollWait{Client: pong, Report: Report{Now: At(5), NextEvent: Infinity, Acked: 1}, Want: Infinity, Messages: true})
	require.Equal(t, []Effect{
		&Deliver{To: ping, Number: 1, Message: answer},
		&Authorize{To: ping, Until: At(20), QuietUntil: Infinity},
	}, settle())
	step(&Leave{Client: ping, Now: At(10), Acked: 1})
	require.Equal(t, []Effect{&Authorize{To: pong, Until: Infinity, QuietUntil: Infinity}}, settle(), "nothing can come any more")
	require.Equal(t, []Effect{&Finish{}}, step(&Leave{Client: pong, Now: At(5), Acked: 1}))
	require.Equal(t, Totals{Sent: 2, Delivered: 2, End: At(10)}, ledger.Totals())
}
