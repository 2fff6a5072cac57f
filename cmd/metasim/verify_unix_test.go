//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
)

func TestVerifyEqual(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", withCommand("echo PING PONG", ""))
	e := s.metasim("verify", "c.yaml", "--runs", strconv.Itoa(len(run.Transports)), "--json")
	require.Equal(t, 0, e.status)
	require.Empty(t, e.err)
	var v struct {
		Equal         bool   `json:"equal"`
		Digest        string `json:"digest"`
		SendsDigest   string `json:"sends_digest"`
		ResultsDigest string `json:"results_digest"`
		Runs          []struct {
			Transport     string `json:"transport"`
			GOMAXPROCS    int    `json:"gomaxprocs"`
			Digest        string `json:"digest"`
			SendsDigest   string `json:"sends_digest"`
			ResultsDigest string `json:"results_digest"`
		} `json:"runs"`
	}
	d := json.NewDecoder(strings.NewReader(e.out))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v))
	require.True(t, v.Equal)
	require.Equal(t, pingPongDigest, v.Digest)
	require.Len(t, v.Runs, len(run.Transports))
	transports := map[string]bool{}
	for _, r := range v.Runs {
		transports[r.Transport] = true
		require.Equal(t, pingPongDigest, r.Digest)
		require.Equal(t, v.SendsDigest, r.SendsDigest)
		require.Equal(t, v.ResultsDigest, r.ResultsDigest)
		require.Positive(t, r.GOMAXPROCS)
	}
	require.Len(t, transports, len(run.Transports))
	s.clean()
	require.NoDirExists(t, filepath.Join(s.dir, "runs"))
	e = s.metasim("verify", "c.yaml", "--runs", "2")
	require.Contains(t, e.out, "equal: 2 runs, one digest of what was delivered, of what was sent and of the results\n")
}

// A client that is not deterministic is found out, and where it was.
func TestVerifyUnequal(t *testing.T) {
	s := newStage(t)
	s.file("liar.yaml", `name: liar
clients:
  - name: liar
    run: [BIN]
    env: [TEST_PROGRAM=liar]
  - {name: hearer, model: sink, with: {channels: [LIES]}}
`)
	e := s.metasim("verify", "liar.yaml", "--runs", "3", "--json")
	require.Equal(t, 1, e.status)
	var v map[string]any
	e.object(t, &v)
	require.Equal(t, false, v["equal"])
	require.Len(t, v["runs"], 3)
	first, ok := v["divergence"].(string)
	require.True(t, ok)
	for _, part := range []string{"liar to hearer on LIES", "message 1 of liar", "sent 1ms", `"1"`, `"2"`} {
		require.Contains(t, first, part)
	}
	e = s.metasim("verify", "liar.yaml", "--runs", "2")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "not equal")
	require.Contains(t, e.err, "message 1")
	left, err := os.ReadDir(s.temp)
	require.NoError(t, err)
	require.Len(t, left, 2, "the runs that differ are kept, to be looked at")
}

func TestVerifyFails(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", withCommand("exit3 x", ""))
	e := s.metasim("verify", "c.yaml", "--runs", "2", "--json")
	require.Equal(t, 1, e.status)
	var v map[string]any
	e.object(t, &v)
	require.Equal(t, false, v["equal"])
	require.Contains(t, v["error"], "exit status 3")
}

// A client need not have every transport: those that it lacks are left out, and where one fails that is said.
func TestVerifyTransports(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", strings.NewReplacer(`"BIN", "PING"`, pythonEcho(t)+`, "PING"`).Replace(withCommand("metasim PING PONG", "")))
	e := s.metasim("verify", "c.yaml", "--transport", "unix,tcp")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, "run 1  unix ")
	require.Contains(t, e.out, "equal: 2 runs,")
	e = s.metasim("verify", "c.yaml", "--transport", "tcp,quic")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "the runs before it did not fail: if a client does not have quic, leave that out with --transport")
	e = s.metasim("verify", "c.yaml", "--transport", "udp")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, `there is no transport "udp"; use one of mem, unix, tcp, tls, quic, shm`)
	e = s.metasim("verify", "c.yaml", "--transport", "")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, "--transport names no transport")
}

// A verify that is stopped leaves nothing.
func TestVerifyInterrupted(t *testing.T) {
	s := raced(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", withCommand("stuck PING PONG", "", flag))
	p := s.start(nil, "verify", "c.yaml", "--json")
	pid := p.appears(flag)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	e := p.wait()
	require.Equal(t, 1, e.status)
	e.says(t, "stopped by signal")
	s.gone(pid)
	s.clean()
}
