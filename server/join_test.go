package server_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

// Clients join by name in any order; the start comes when all are there.
func TestJoinInAnyOrder(t *testing.T) {
	for _, order := range []string{"a b c", "a c b", "b a c", "b c a", "c a b", "c b a"} {
		c := config("b", "c", "a")
		c.Core.Until = metasim.Second
		r := serve(t, c)
		var peers []*peer
		for name := range strings.FieldsSeq(order) {
			peers = append(peers, r.join(hello(name))...)
		}
		for _, p := range peers {
			require.Equal(t, wire.Start{Until: metasim.At(metasim.Second)}, hear[wire.Start](p))
		}
		for _, p := range peers {
			p.leave()
		}
		require.NoError(t, r.end())
	}
}

// A client that is refused is told why, and may try again. The run goes on.
func TestRefused(t *testing.T) {
	c := config("a", "b")
	c.Token = "secret"
	r := serve(t, c)
	good := func(name string) wire.Hello {
		h := hello(name)
		h.Token = "secret"
		return h
	}
	a := r.join(good("a"))[0]
	version, token, sub, empty := good("b"), good("b"), good("b"), good("b")
	version.Version = 9
	token.Token = "guessed"
	sub.Subscriptions, empty.Subscriptions = []string{"X", "*"}, []string{"X", ""}
	for _, c := range []struct {
		body   wire.Body
		reason wire.Reason
		text   string
	}{
		{version, wire.BadVersion, `client "b" speaks protocol version 9, this server speaks 2; build both from one version of metasim`},
		{token, wire.BadToken, `client "b" has not the join token of this run; give it METASIM_TOKEN as the server printed it`},
		{hello("b"), wire.BadToken, `client "b" has not the join token of this run; give it METASIM_TOKEN as the server printed it`},
		{good("z"), wire.UnknownName, `the scenario "test" has no client "z"; name it there, or join as one of: ["b"]`},
		{good("a"), wire.NameTaken, `a client called "a" has joined already; names are unique in a run`},
		{sub, wire.BadMessage, `client "b" subscribes to "*", which is neither a channel name nor a regular expression: ` +
			"error parsing regexp: missing argument to repetition operator: `*`"},
		{empty, wire.BadMessage, `client "b" subscribes to "", which is neither a channel name nor a regular expression: ` +
			"it is empty; write the name of a channel, or .* for all"},
		{&metasim.Promise{}, wire.BadMessage, `member 0 sent a PromiseNoSend before its Hello; say Hello first`},
	} {
		p := r.dial()
		p.say(c.body)
		require.Equal(t, wire.Refuse{Reason: c.reason, Text: c.text}, hear[wire.Refuse](p))
		require.NoError(t, p.conn.Close())
	}
	b := r.dial()
	b.say(token)
	hear[wire.Refuse](b)
	b.say(good("b")) // the member number is free
	hear[wire.Welcome](b)
	hear[wire.Start](b)
	hear[wire.Start](a)
	late := r.dial()
	late.say(good("b"))
	require.Equal(t, wire.Refuse{Reason: wire.TooLate,
		Text: `client "b" comes too late: the run has begun, and nobody joins after that`}, hear[wire.Refuse](late))
	a.leave()
	b.leave()
	require.NoError(t, r.end())
}

// Without a token in the Config no client needs one.
func TestNoToken(t *testing.T) {
	r := serve(t, config("a"))
	h := hello("a")
	h.Token = "left over from another run"
	r.start(h)[0].leave()
	require.NoError(t, r.end())
}

// A member that has joined and then speaks nonsense is told so, once, and is lost.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct {
		say         wire.Body
		refusal, is string
	}{
		{hello("b"), "member 0 of this connection has said Hello already",
			`client "a" was lost (it said Hello twice) before the run began; ` +
				`a client ends with a leave, or has on_exit: detach`},
		{wire.Goodbye{}, "a client does not send a Goodbye",
			`client "a" was lost (it sent a Goodbye, which only a server does) before the run began; a client ends with a leave, or has on_exit: detach`},
	} {
		r := serve(t, config("a", "b"))
		a := r.join(hello("a"))[0]
		a.say(c.say, c.say)
		require.Equal(t, wire.Refuse{Reason: wire.BadMessage, Text: c.refusal}, hear[wire.Refuse](a))
		a.hangsUp()
		require.EqualError(t, r.end(), c.is)
	}
}

// If clients do not join in time, the run fails and names them. The clients that have joined are told.
func TestStartTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := serve(t, config("a", "b", "c"))
		b := r.join(hello("b"))[0]
		var err *server.StartError
		require.ErrorAs(t, r.end(), &err)
		require.Equal(t, []string{"a", "c"}, err.Missing)
		require.Equal(t, server.DefaultStartTimeout, time.Since(began))
		text := "a, c have not joined after 30s; start the client, check its server address and token, or raise start_timeout"
		require.EqualError(t, err, text)
		require.Equal(t, wire.Refuse{Reason: wire.RunFailed, Text: "the run failed: " + text}, hear[wire.Refuse](b))
	})
}

func TestStartTimeoutOfMany(t *testing.T) {
	err := &server.StartError{After: time.Second, Missing: strings.Fields("a b c d e f g h i j")}
	require.EqualError(t, err, "a, b, c, d, e, f, g, h and 2 more have not joined after 1s; "+
		"start the client, check its server address and token, or raise start_timeout")
}

// A negative timeout waits for ever, and so does a run that has started.
func TestNoStartTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("a")
		c.StartTimeout = -1
		r := serve(t, c)
		pass(1000 * time.Hour)
		a := r.start(hello("a"))[0]
		pass(1000 * time.Hour)
		a.leave()
		require.NoError(t, r.end())
	})
}

// A client whose process ends before it joins is lost at once. For a client that has joined the connection decides. A name
// that the run does not have is ignored.
func TestExited(t *testing.T) {
	r := serve(t, config("a", "b"))
	a := r.join(hello("a"))[0]
	r.Exited("a", 0, "exit status 0")
	r.Exited("nobody", 0, "exit status 9")
	r.Exited("b", 0, "its process has ended")
	var lost *server.LostError
	require.ErrorAs(t, r.end(), &lost)
	require.Equal(t, &server.LostError{Client: "b", Cause: "its process has ended"}, lost)
	require.EqualError(t, lost, `client "b" was lost before it joined: its process has ended; `+
		`see that it starts, and joins as METASIM_CLIENT, METASIM_SERVER and METASIM_TOKEN say`)
	require.Equal(t, wire.RunFailed, hear[wire.Refuse](a).Reason)
	a.hangsUp()
	r.Exited("b", 0, "too late to matter")
}

// Fail ends a run from outside, with the first error.
func TestFail(t *testing.T) {
	r := serve(t, config("a"))
	broken := errors.New("no such command")
	r.Fail(broken)
	require.ErrorIs(t, r.end(), broken)
	r.Fail(errors.New("another"))
	require.ErrorIs(t, r.Result().Err, broken)
}

// What every client must be told has to fit a frame: found before anybody joins.
func TestNamesThatNoFrameHolds(t *testing.T) {
	long := strings.Repeat("x", wire.MaxName+1)
	_, err := server.New(config(long))
	require.ErrorAs(t, err, new(*wire.ProtocolError))
	c := config("a")
	c.Scenario = long
	_, err = server.New(c)
	require.ErrorAs(t, err, new(*wire.ProtocolError))
}

func TestConfig(t *testing.T) {
	c := config()
	_, err := server.New(c)
	require.EqualError(t, err, "a run needs at least one client")
	c = config("a")
	c.OutboxLimit = -1
	_, err = server.New(c)
	require.EqualError(t, err, "OutboxLimit is -1 bytes; use a positive number, or 0 for 67108864")
	c = config("a")
	c.Observers = []server.Observer{nil}
	_, err = server.New(c)
	require.EqualError(t, err, "an observer is nil; leave it out")
}
