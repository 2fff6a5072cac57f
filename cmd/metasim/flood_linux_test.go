package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients of others that publish more than a run can hold: a program in a Go module of its own, heard by one in Python.

// peak is how much memory metasim, or one of the programs that it started, took at most, in bytes.
func (p *running) peak() int {
	return int(p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
}

// tooMuch is more than any process of these runs takes, with the race detector too.
const tooMuch = 1 << 30

// A client that publishes for ever at one instant, in a handler or between two steps, ends the run: what it publishes goes to the
// server, which counts it, and does not gather in the client.
func TestFloodAtOneInstant(t *testing.T) {
	s := newStage(t)
	program := embedder(t, "flood.go.txt")
	for _, how := range []string{"handler", "step"} {
		s.file("f.yaml", fmt.Sprintf(`
name: flood
until: 1s
memory: 1MiB
clients:
  - {name: source, model: source, with: {channel: A, period: 1ms}}
  - {name: flood, run: [%q, %s, A, B]}
  - {name: sink, model: sink, with: {channels: [B]}}
links: [{delay: 1ms}]
`, program, how))
		p := s.start(nil, "run", "f.yaml", "--no-journal")
		e := p.wait()
		require.Equal(t, 1, e.status)
		require.Contains(t, e.err, `client "flood" sent 67`) // 64 MiB and what came with them
		require.Contains(t, e.err, "raise memory")
		require.Less(t, p.peak(), tooMuch)
	}
	s.clean()
}

// Two clients that answer each message with two end the run long before max_steps, and say where messages go round.
func TestFloodOfAnswers(t *testing.T) {
	s := newStage(t)
	program := embedder(t, "flood.go.txt")
	scenario := fmt.Sprintf(`
name: flood
until: 1s
cascade: 8MiB
clients:
  - {name: flood, run: [%q, twice, A, B]}
  - {name: ring, model: ring, with: {in: B, out: A}}
`, program)
	s.file("f.yaml", scenario)
	p := s.start(nil, "run", "f.yaml")
	e := p.wait()
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "messages without delay multiply: ")
	require.Contains(t, e.err, "the bound is 8388608: ")
	require.Regexp(t, "flood -B-> ring -A-> flood|ring -A-> flood -B-> ring", e.err)
	require.Contains(t, e.err, "raise cascade")
	require.Less(t, p.peak(), tooMuch)
	require.Zero(t, s.metasim("replay", "runs/flood-1").status, "it fails alike")

	s.file("f.yaml", strings.Replace(scenario, "8MiB", "off", 1)+"max_steps: 12\n")
	e = s.metasim("run", "f.yaml")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "more than 12 steps", "only max_steps is left")
	s.file("f.yaml", strings.Replace(scenario, "8MiB", "8", 1))
	e = s.metasim("run", "f.yaml")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, "write, for example, 128MiB")
	s.clean()
}

// A stepper far ahead of a client in another language waits for it, and no digest depends on that.
func TestFloodWaits(t *testing.T) {
	echo := pythonEcho(t)
	s := newStage(t)
	s.file("f.yaml", fmt.Sprintf(`
name: flood
clients:
  - {name: flood, run: [%q, stream, NONE, A]}
  - {name: echo, run: [%s, A, B], ahead: 16KiB}
  - {name: sink, model: sink, with: {channels: [A, B]}}
links: [{delay: 100us}]
`, embedder(t, "flood.go.txt"), echo))
	free, e := s.run("f.yaml", "--memory", "off")
	require.Zero(t, e.status, e.err)
	for _, transport := range []string{"mem", "tcp"} {
		bound, e := s.run("f.yaml", "--memory", "1MiB", "--transport", transport)
		require.Zero(t, e.status, e.err)
		require.Equal(t, free.Digest, bound.Digest)
		require.Equal(t, free.SendsDigest, bound.SendsDigest)
		require.Less(t, bound.HeldBytes, 4<<20)
		require.Zero(t, s.metasim("replay", bound.RunDir).status)
		s.reportsMemory(bound)
	}
	s.clean()
}
