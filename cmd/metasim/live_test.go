package main

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/lcm/bus"
	"metasim/run"
)

const inRealTime = `name: live
until: 150ms
rate: 1
clients:
  - {name: real, model: bridge, with: {url: "URL", in: [CMD], out: [STATE]}}
  - {name: plant, model: source, with: {channel: STATE, period: 50ms}}
  - {name: ear, model: sink, with: {channels: [CMD]}}
`

// A run with a bridge says that it is not deterministic, and why, however its clients are started; it cannot be verified,
// and the bridge cannot be replayed.
func TestRunInRealTime(t *testing.T) {
	network, err := bus.Open("tcpq://127.0.0.1:0", bus.Options{Serve: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, network.Close()) }()
	s := raced(t)
	url := network.(interface{ URL() string }).URL()
	s.file("live.metasim.yaml", strings.Replace(inRealTime, "URL", url, 1))

	e := s.metasim("run", "live.metasim.yaml", "--out", "one")
	require.Zero(t, e.status, e.err)
	require.Contains(t, e.out, "\ndeterministic: no, real took part in real time\n")
	require.Contains(t, e.out, `real: {"in":0,"out":3,"dropped":0,"lost":0,"refused":0,"failed":0}`)

	var out run.Outcome
	s.metasim("run", "live.metasim.yaml", "--out", "two", "--transport", "unix", "--json").object(t, &out)
	require.True(t, out.OK)
	require.False(t, out.Deterministic)
	require.Equal(t, []string{"real"}, out.Live)
	require.GreaterOrEqual(t, out.WallS, 0.1, "real time has passed")

	e = s.metasim("verify", "live.metasim.yaml")
	require.Equal(t, 2, e.status)
	e.says(t, `client "real" takes part in real time, so no two runs are the same and there is nothing to verify`)

	require.Zero(t, s.metasim("replay", "one").status)
	require.Zero(t, s.metasim("replay", "one", "--client", "plant").status)
	e = s.metasim("replay", "one", "--client", "real")
	require.NotZero(t, e.status)
	e.says(t, `client "real" took part in real time`, "replay another client, or all of the run")

	e = s.metasim("validate", "live.metasim.yaml", "--set", "rate=0")
	require.Equal(t, 2, e.status)
	e.says(t, "a bridge takes part in real time, and this run goes as fast as it can; add rate: 1 to the scenario")
}

// A network that is not there is one clear sentence.
func TestRunWithoutItsNetwork(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "tcpq://" + taken.Addr().String()
	require.NoError(t, taken.Close())
	s := newStage(t)
	s.file("live.metasim.yaml", strings.Replace(inRealTime, "URL", url, 1))
	e := s.metasim("run", "live.metasim.yaml", "--out", "mem")
	require.Equal(t, 1, e.status)
	e.says(t, `client "real" was lost (it failed: `, "the LCM network of the bridge cannot be joined: "+url, "refused; start its server before the run, or ")
	e = s.metasim("run", "live.metasim.yaml", "--out", "unix", "--transport", "unix")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "\nlast output of \"real\":\n  | metasim: the LCM network of the bridge cannot be joined: "+url)
}
