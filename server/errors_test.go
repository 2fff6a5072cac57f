package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/server"
)

// What has ended the process of a client and its connection is told once where it is one thing.
func TestALostHostIsToldOnce(t *testing.T) {
	lost := server.LostError{Client: "a", Joined: true, Cause: "host n2 was lost: no route", Process: server.ProcessEnd{Exit: "host n2 was lost: no route"}}
	const want = `client "a" was lost (host n2 was lost: no route) before the run began; a client ends with a leave, or has on_exit: detach`
	require.EqualError(t, &lost, want)
	lost.Cause = "its connection was closed"
	require.ErrorContains(t, &lost, "no route) before the run began; after that: its connection was closed; a client")
}
