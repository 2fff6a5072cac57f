package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/session"
)

// The traffic of a relay's connection is that of its only client, however often the process of that was replaced.
func TestTrafficOfARestartedClientOfARelay(t *testing.T) {
	c := config("a", "b")
	again := make(chan struct{}, 1)
	c.Restart = &server.Restart{Limit: map[string]int{"a": 1}, Start: func(string, int) { again <- struct{}{} }}
	r := serve(t, c)
	gate := r.dial()
	h := hello("a")
	h.Relay = "gate"
	gate.say(h)
	hear[wire.Welcome](gate)
	gate.say(wire.Failed{Gone: true, Reason: "it was killed"})
	<-again
	gate.member = 1
	gate.say(h)
	hear[wire.Welcome](gate)
	b := r.join(hello("b"))[0]
	for _, p := range []*peer{gate, b} {
		hear[wire.Start](p)
		p.leave()
	}
	require.NoError(t, r.end())
	for _, c := range r.Result().Clients {
		require.NotNil(t, c.Traffic, c.Name)
	}
}

// An error of MayBegin ends a run before any client may do anything: none begins, and an observer sees no Begin.
func TestMayNotBegin(t *testing.T) {
	c, j := config("a", "b"), &journal{}
	c.Observers = []server.Observer{j}
	misfit := errors.New("the channels do not fit")
	c.MayBegin = func() error { return misfit }
	r := serve(t, c)
	for _, p := range r.join(hello("a"), hello("b")) {
		require.Contains(t, hear[wire.Refuse](p).Text, misfit.Error())
		p.hangsUp()
	}
	require.ErrorIs(t, r.end(), misfit)
	require.Len(t, j.events, 2, "two joined")
	for _, ev := range j.events {
		require.IsType(t, &metasim.Join{}, ev)
	}
}

// replaced is a run of a and b in which the process of a may be replaced so often.
func replaced(limit int) (c server.Config, again chan struct{}) {
	c, again = config("a", "b"), make(chan struct{}, limit)
	c.Restart = &server.Restart{Limit: map[string]int{"a": limit}, Start: func(string, int) { again <- struct{}{} },
		Past: func(metasim.ClientID, bool) server.Past { return &past{} }}
	return c, again
}

// A client whose process is replaced joins as before, or the run ends: what it is to others was decided when it first joined.
func TestReplacedClientJoinsAsBefore(t *testing.T) {
	c, again := replaced(1)
	r := serve(t, c)
	h := hello("a")
	h.Publications = []string{"X"}
	require.NoError(t, r.join(h)[0].conn.Close())
	<-again
	h.Publications = []string{"Y"}
	r.dial().say(h)
	var e *server.RepeatError
	require.ErrorAs(t, r.end(), &e)
	require.Equal(t, "a", e.Client)
	require.Equal(t, 1, e.Restarts)
	require.ErrorContains(t, e, "was started again and did not repeat itself")
}

// A client whose process is replaced has as long to join as one at the start, and may be lost no more often than the scenario says.
func TestReplacedClientIsLostAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, again := replaced(1)
		c.StartTimeout = 20 * time.Second
		r := serve(t, c)
		require.NoError(t, r.start(hello("a"), hello("b"))[0].conn.Close())
		<-again
		began := time.Now()
		require.EqualError(t, r.end(), `client "a" has to be started again and has not joined within 20s; see that it starts, or raise start_timeout`)
		require.Equal(t, 20*time.Second, time.Since(began))
	})
	for limit, says := range map[int]string{0: `client "a" was lost (`, 1: `client "a" was lost again, after it was started again once (`, 2: "again 2 times ("} {
		c, again := replaced(limit)
		r := serve(t, c)
		h := hello("a")
		for range limit {
			require.NoError(t, r.join(h)[0].conn.Close())
			<-again
		}
		require.NoError(t, r.join(h)[0].conn.Close())
		var e *server.LostError
		require.ErrorAs(t, r.end(), &e)
		require.Equal(t, limit, e.Restarts)
		require.ErrorContains(t, e, says)
	}
}

// A client that ends before it joins ends the run, with what its process said last.
func TestLostBeforeItJoined(t *testing.T) {
	c := config("a", "b")
	c.ProcessEnd = func(string) server.ProcessEnd {
		return server.ProcessEnd{Exit: "exit status 3", Output: []string{"no such file"}}
	}
	r := serve(t, c)
	r.Exited("nobody", 0, "its process ended")
	r.Exited("a", 1, "another life of it ended")
	r.Exited("a", 0, "its process ended")
	require.EqualError(t, r.end(), `client "a" was lost before it joined: its process ended (exit status 3); see that it starts, and joins as METASIM_CLIENT, `+
		"METASIM_SERVER and METASIM_TOKEN say\nlast output of \"a\":\n  | no such file")
}

// A checkpoint that a client makes is kept with what it had sent; one that it cannot make is told once.
func TestCheckpointsAreKept(t *testing.T) {
	var log bytes.Buffer
	var kept []session.Saved
	c := config("a")
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	c.Checkpoints = &server.Checkpoints{Every: map[string]metasim.Time{"a": metasim.Millisecond}, Keep: func(_ metasim.ClientID, s *session.Saved) bool {
		kept = append(kept, *s)
		return true
	}}
	r := serve(t, c)
	h := hello("a")
	h.Saves, h.Publications = true, []string{"X"}
	a := r.join(h)[0]
	require.Equal(t, metasim.Millisecond, hear[wire.Checkpoint](a).Every)
	hear[wire.Start](a)
	a.say(sendX("one"), until(at(0), at(1)))
	for !at(1).Before(hear[*metasim.Authorize](a).Until) {
	}
	saved := wire.Checkpoint{Now: at(1), NoSendBefore: at(1), NextEvent: at(2), Cause: metasim.Infinity, State: []byte("state")}
	a.say(saved, wire.Checkpoint{Failed: "a file is open"}, wire.Checkpoint{Failed: "a file is open"}, &metasim.Leave{Now: at(1)})
	hear[wire.Goodbye](a)
	require.NoError(t, r.end())
	require.Len(t, kept, 1)
	require.Equal(t, saved, kept[0].Checkpoint)
	require.Equal(t, uint64(1), kept[0].Sent)
	require.Equal(t, uint64(1), uint64(r.Result().Clients[0].Checkpoints))
	require.Equal(t, 1, strings.Count(log.String(), "made no checkpoint"), log.String())
	require.Contains(t, log.String(), "a file is open")
}
