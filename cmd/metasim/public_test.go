package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/lcm"
	"metasim/run"
)

// A run that is shown is the same run, and says how much was shown.
func TestRunShownOnLCM(t *testing.T) {
	s := raced(t)
	s.file("pp.metasim.yaml", pingPong)
	var private, shown run.Outcome
	s.metasim("run", "pp.metasim.yaml", "--json", "--out", "one").object(t, &private)
	require.Nil(t, private.LCM)
	e := s.metasim("run", "pp.metasim.yaml", "--json", "--out", "two", "--lcm", "file://run.lcmlog")
	require.Zero(t, e.status)
	require.Empty(t, e.err)
	e.object(t, &shown)
	require.Equal(t, private.Digest, shown.Digest)
	messages := shown.Messages.Sent + shown.Messages.Delivered
	require.Equal(t, messages, shown.LCM.Shown)
	require.Equal(t, 2*messages, shown.LCM.Sent)
	log, err := os.ReadFile(filepath.Join(s.dir, "run.lcmlog"))
	require.NoError(t, err)
	ev, err := lcm.NewReader(bytes.NewReader(log)).Next()
	require.NoError(t, err)
	require.Equal(t, "PING@pinger", ev.Channel)

	e = s.metasim("run", "pp.metasim.yaml", "--out", "three", "--lcm", "file://run.lcmlog")
	require.Contains(t, e.out, "public LCM: 40 messages with their companions, 0 dropped; 80 went out on file://")
	e = s.metasim("run", "pp.metasim.yaml", "--lcm", "tcpq://127.0.0.1:0")
	require.Contains(t, e.out, "\nno program had subscribed to 80 of these: ")
	e = s.metasim("run", "pp.metasim.yaml", "--json", "--lcm", "udp://somewhere")
	require.Equal(t, 2, e.status)
	e.says(t, `"udp://somewhere" has the scheme "udp"; use udpm, tcpq or file`)
}

// A network that cannot be had is one warning.
func TestRunShownOnALCMThatIsNotThere(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	s := newStage(t)
	s.file("pp.metasim.yaml", pingPong)
	e := s.metasim("run", "pp.metasim.yaml", "--json", "--out", "one", "--lcm", "tcpq://"+taken.Addr().String())
	require.Zero(t, e.status)
	e.says(t, "the LCM network is not available", "address already in use")
	var out run.Outcome
	e.object(t, &out)
	require.True(t, out.OK && out.Deterministic)
	require.EqualValues(t, 80, out.LCM.Failed)
	require.Zero(t, out.LCM.Sent)
}
