package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

const patience = 10 * time.Second

// behindARelay is a run whose client a joins through a relay and can come back, while b is there without. It returns both when a has sent a message, and was
// given that and one of b, of which it has handled its own.
func behindARelay(t *testing.T) (r *running, relay, b *peer, granted metasim.Instant) {
	c := config("a", "b")
	c.Patience = map[string]time.Duration{"a": patience}
	r = serve(t, c)
	relay = r.dial()
	relay.say(returning("gate", nil))
	require.EqualValues(t, patience, hear[wire.Welcome](relay).Patience)
	require.True(t, r.Relayed())
	b = r.join(mutual("b"))[0]
	hear[wire.Start](relay)
	hear[wire.Start](b)
	b.say(&metasim.Send{Channel: "X", Sent: at(0), Payload: []byte("of b")}, until(at(0), at(9)))
	relay.say(&metasim.Send{Channel: "X", Sent: at(0), Payload: []byte("of a")}, until(at(0), at(1)))
	require.Equal(t, "of a", string(hear[*metasim.Deliver](relay).Message.Payload))
	require.Equal(t, "of b", string(hear[*metasim.Deliver](relay).Message.Payload))
	granted = hear[*metasim.Authorize](relay).Until
	relay.say(&metasim.Advance{Report: metasim.Report{Now: metasim.Instant{Step: 1}, NoSendBefore: metasim.Instant{Step: 1}, NextEvent: at(1), Acked: 1}})
	hear[*metasim.Deliver](b)
	hear[*metasim.Deliver](b)
	hear[*metasim.Authorize](b)
	return r, relay, b, granted
}

// returning is the Hello of client a, which can come back; through a relay, if that has a name.
func returning(relay string, back *wire.Back) wire.Hello {
	h := mutual("a")
	h.Minor, h.Returns, h.Relay, h.Back = wire.Minor, true, relay, back
	return h
}

// TestARelayIsLost: its client comes back through another one, is told how much the server has of it, and given what it had not handled. Meanwhile no other
// process takes its place.
func TestARelayIsLost(t *testing.T) {
	r, relay, b, granted := behindARelay(t)
	require.NoError(t, relay.conn.Close())
	stranger := r.dial()
	stranger.say(returning("", nil))
	require.Contains(t, hear[wire.Refuse](stranger).Text, `client "a" was lost with its relay, and is awaited: the same process comes back`)
	a := r.dial()
	a.say(returning("another gate", &wire.Back{Sent: 2, Handled: 1}))
	step := metasim.Instant{Step: 1}
	require.Equal(t, &wire.Known{Sent: 1, Delivered: 2, Now: step, NoSendBefore: step}, hear[wire.Welcome](a).Known)
	hear[wire.Start](a)
	again := hear[*metasim.Deliver](a)
	require.Equal(t, "of b", string(again.Message.Payload))
	require.EqualValues(t, 2, again.Number)
	require.Equal(t, granted, hear[*metasim.Authorize](a).Until)
	poll := until(step, at(1))
	poll.Acked = 2
	handled := until(step, at(9))
	handled.Acked = 2
	b.say(handled)
	a.say(poll)
	require.True(t, at(1).Before(hear[*metasim.Authorize](a).Until))
	a.say(&metasim.Send{Channel: "X", Sent: at(1), Payload: []byte("on its way when the relay died")}, &metasim.Leave{Now: at(1), Acked: 2})
	hear[wire.Goodbye](a)
	require.Equal(t, "on its way when the relay died", string(hear[*metasim.Deliver](b).Message.Payload))
	hear[*metasim.Authorize](b)
	b.say(&metasim.Leave{Now: at(1), Acked: 3})
	hear[wire.Goodbye](b)
	require.NoError(t, r.end())
}

// TestAClientIsSoonerThanTheLossOfItsRelay: over QUIC the old connection may seem to live when the client comes back; what still comes over that does not count.
func TestAClientIsSoonerThanTheLossOfItsRelay(t *testing.T) {
	r, relay, b, granted := behindARelay(t)
	a := r.dial()
	a.say(returning("another gate", &wire.Back{Sent: 1, Handled: 2}))
	require.EqualValues(t, 1, hear[wire.Welcome](a).Known.Sent)
	hear[wire.Start](a)
	require.Equal(t, granted, hear[*metasim.Authorize](a).Until)
	relay.say(&metasim.Send{Channel: "X", Sent: metasim.Instant{Step: 1}, Payload: []byte("late")})
	require.NoError(t, relay.conn.Close())
	a.say(&metasim.Leave{Now: metasim.Instant{Step: 1}, Acked: 2})
	hear[wire.Goodbye](a)
	b.say(&metasim.Leave{Now: metasim.Instant{Step: 1}, Acked: 2})
	hear[wire.Goodbye](b)
	require.NoError(t, r.end())
	require.EqualValues(t, 2, r.Result().Totals.Sent)
}

// TestARelayIsNotReplaced: the run ends with the name of the client that did not come back, after as long as that tries. One that cannot come back is lost at once.
func TestARelayIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, relay, _, _ := behindARelay(t)
		lost := time.Now()
		require.NoError(t, relay.conn.Close())
		require.ErrorContains(t, r.end(), `client "a" was lost (the relay gate was lost: the connection was closed; it did not come back within 10s, through another relay`)
		require.Equal(t, patience, time.Since(lost))
	})
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, config("a"))
		relay := r.dial()
		relay.say(returning("gate", nil))
		hear[wire.Welcome](relay)
		lost := time.Now()
		require.NoError(t, relay.conn.Close())
		lostError := new(server.LostError)
		require.ErrorAs(t, r.end(), &lostError)
		require.Zero(t, time.Since(lost))
	})
}
