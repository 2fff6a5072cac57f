package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/server"
	"metasim/wire"
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
