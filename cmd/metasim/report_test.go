package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis"
)

func TestReport(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)

	e := s.metasim("report", "r")
	require.Equal(t, 0, e.status)
	for _, part := range []string{"ping-pong: ", " core", "frames with", "digest: " + pingPongDigest, "  parallelism: so many of 2 clients", "Who waited for whom", "pinger   ponger", "Links", "Cores"} {
		require.Contains(t, e.out, part)
	}
	e = s.metasim("report", "r", "--json", "--what-if", "client(ponger).speed=1000000", "--what-if", "cores=1")
	require.Equal(t, 0, e.status)
	var r analysis.Report
	require.NoError(t, json.Unmarshal([]byte(e.out), &r))
	require.Equal(t, "ping-pong", r.Scenario)
	require.Equal(t, pingPongDigest, r.Digest)
	require.True(t, r.Deterministic)
	require.Positive(t, r.Cores)
	require.Positive(t, r.Traffic.FramesIn)
	require.InDelta(t, float64(r.Traffic.FramesIn+r.Traffic.FramesOut)/float64(r.Grants), r.FramesPerGrant, 1e-9)
	require.InDelta(t, r.WallS, r.Clients[0].WorkS+r.Clients[0].BlockedS+r.Clients[0].OverheadS, 1e-9)
	require.Len(t, r.WhatIfs, 1)
	require.Equal(t, "client(ponger).speed=1000000 cores=1", r.WhatIfs[0].Change)
	require.Less(t, r.WhatIfs[0].WallS, r.WallS)
	s.clean()
}

func TestReportRefuses(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{}, "takes one run directory"},
		{[]string{"nowhere"}, "nowhere is no run"},
		{[]string{"r", "--what-if", "faster"}, "what if faster: it is none; write link(FROM->TO).delay=5ms"},
		{[]string{"r", "--what-if", "client(pinker).speed=2"}, `the run has no client "pinker": did you mean "pinger"?`},
		{[]string{"r", "--what-if", "client(pinger).sped=2"}, `a client has no "sped" that can be changed: did you mean "speed"?`},
		{[]string{"r", "--what-if", "client(pinger).speed=-1"}, `"-1" is not a factor; write a positive number`},
		{[]string{"r", "--what-if", "client(pinger).promise=5"}, `"5" has no unit`},
		{[]string{"r", "--what-if", "link(pinger->ponger).loss=0"}, `write link(pinger->ponger).delay=5ms`},
		{[]string{"r", "--what-if", "link(pinger->pinger).delay=5ms"}, "no message can go from pinger to pinger there"},
		{[]string{"r", "--what-if", "cores=0"}, `"0" is not a number of cores`},
	} {
		e := s.metasim(append([]string{"report"}, c.args...)...)
		require.Equal(t, 2, e.status, c.args)
		e.says(t, c.says)
	}
}
