package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/wire"
	"metasim/wire/session"
)

// filled returns an exchange with client 0, which has joined, and a tape with so many steps of one message each, a
// millisecond apart.
func filled(t *testing.T, steps, size int) *exchange {
	tape := &tape{
		run:  &record.Run{Manifest: &journal.Manifest{Clients: []string{"a", "b"}}},
		past: session.Past{Joined: &metasim.Join{}}, end: &ending{text: "it ended"},
	}
	for i := range steps {
		due := metasim.At(metasim.Time(i) * metasim.Millisecond)
		m := metasim.Message{From: 1, Seq: uint64(i), Channel: "A", Due: due, Payload: make([]byte, size)}
		tape.past.Given.Push(session.Given{Messages: []*metasim.Deliver{{To: 0, Number: uint64(i + 1), Message: m}}, Until: due.Add(metasim.Millisecond)})
	}
	x, err := newExchange("a", "secret", wire.About{}, nil, tape)
	require.NoError(t, err)
	require.NoError(t, x.packet(wire.Packet{Member: 7, Body: wire.Hello{Version: wire.Version, Name: "a", Token: "secret"}}))
	require.Equal(t, []wire.Packet{{Member: 7, Body: wire.Welcome{}}, {Member: 7, Body: wire.Start{Until: metasim.Infinity}}}, x.batch)
	x.batch = nil
	return x
}

// said returns how many deliveries and authorizations there are to be written, and forgets them.
func (x *exchange) said() (deliveries, authorizations int) {
	for _, p := range x.batch {
		switch p.Body.(type) {
		case *metasim.Deliver:
			deliveries++
		case *metasim.Authorize:
			authorizations++
		}
	}
	x.batch = nil
	return deliveries, authorizations
}

// TestNobodyIsAuthorizedBeforeItWaits: so it was then.
func TestNobodyIsAuthorizedBeforeItWaits(t *testing.T) {
	x := filled(t, 3, 10)
	require.NoError(t, x.reports(metasim.Report{}, nil))
	require.Empty(t, x.batch)
	require.NoError(t, x.reports(metasim.Report{}, &metasim.PollWait{Want: metasim.Infinity, Messages: true}))
	require.Equal(t, wire.Introduce{Client: 1, Name: "b"}, x.batch[0].Body)
	deliveries, authorizations := x.said()
	require.Equal(t, [2]int{3, 1}, [2]int{deliveries, authorizations})
}

// TestWindow: a client is given ahead of what it has handled, but not without bound.
func TestWindow(t *testing.T) {
	const size = 100_000
	x := filled(t, 100, size)
	poll := &metasim.PollWait{Want: metasim.Infinity, Messages: true}
	require.NoError(t, x.reports(metasim.Report{}, poll))
	n, _ := x.said()
	require.Equal(t, metasim.DefaultAhead/(size+64)+1, n)
	require.NoError(t, x.reports(metasim.Report{Acked: 4}, nil))
	more, authorizations := x.said()
	require.Equal(t, [2]int{4, 1}, [2]int{more, authorizations})
	require.NoError(t, x.reports(metasim.Report{Acked: 4}, nil))
	require.Empty(t, x.batch)
	require.ErrorContains(t, x.reports(metasim.Report{Acked: 3}, nil), "acknowledged delivery 3, of 4 to")
	require.ErrorContains(t, x.reports(metasim.Report{Acked: 99}, nil), "mend the client")
	for acked := uint64(n + more); !x.over; acked = x.Delivered {
		require.NoError(t, x.reports(metasim.Report{Acked: acked}, poll))
	}
	require.EqualValues(t, 100, x.Delivered)
	require.Equal(t, "it ended", x.End)
}

// TestWaitForATime: what is due up to the instant that a client waits for is given, however much that is.
func TestWaitForATime(t *testing.T) {
	x := filled(t, 100, 100_000)
	require.NoError(t, x.reports(metasim.Report{}, &metasim.PollWait{Want: metasim.At(50 * metasim.Millisecond)}))
	n, _ := x.said()
	require.Equal(t, 51, n)
}

// TestRefused: one that may not be replayed is told why, and so is the caller.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		say    wire.Body
		reason wire.Reason
		text   string
	}{
		"version": {wire.Hello{Version: 9, Name: "a"}, wire.BadVersion, `client "a" speaks protocol version 9`},
		"token":   {wire.Hello{Version: wire.Version, Name: "a"}, wire.BadToken, `client "a" has not the join token`},
		"other":   {wire.Hello{Version: wire.Version, Name: "b", Token: "secret"}, wire.NameTaken, `"a" is replayed, and "b" wants to join`},
		"unknown": {wire.Hello{Version: wire.Version, Name: "z", Token: "secret"}, wire.UnknownName, `"a" is replayed, and "z" wants to join`},
		"order":   {&metasim.Leave{}, wire.BadMessage, `sent a Leave before its Hello`},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := newExchange("a", "secret", wire.About{}, nil, filled(t, 0, 0).tape)
			require.NoError(t, err)
			require.ErrorContains(t, x.packet(wire.Packet{Body: c.say}), c.text)
			require.Equal(t, c.reason, x.batch[0].Body.(wire.Refuse).Reason)
		})
	}
	x := filled(t, 0, 0)
	require.NoError(t, x.packet(wire.Packet{Member: 8, Body: wire.Hello{Version: wire.Version, Name: "b", Token: "secret"}}))
	require.Equal(t, wire.TooLate, x.batch[0].Body.(wire.Refuse).Reason)
	require.ErrorContains(t, x.packet(wire.Packet{Member: 7, Body: wire.Goodbye{}}), "which only a server does")
}

// TestClientFails: that a client says so itself is an end like any other.
func TestClientFails(t *testing.T) {
	for _, lost := range []bool{true, false} {
		x := filled(t, 0, 0)
		x.tape.end.lost, x.tape.end.leave = lost, &metasim.Leave{}
		require.NoError(t, x.packet(wire.Packet{Member: 7, Body: wire.Failed{Reason: "no fuel"}}))
		if lost {
			require.Nil(t, x.Difference, "as it was then")
			continue
		}
		require.Equal(t, "it failed: no fuel", x.Difference.Now)
	}
}
