package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client in another language, written from docs/protocol.md alone, gives the same run.
func TestPython(t *testing.T) {
	echo := pythonEcho(t)
	s := raced(t)
	s.file("c.yaml", strings.NewReplacer(`"BIN", "PING"`, echo+`, "PING"`).Replace(withCommand("metasim PING PONG", "")))
	for _, transport := range []string{"mem", "unix", "tcp"} { // the standard library of Python has no QUIC
		o, e := s.run("c.yaml", "--transport", transport)
		require.Equal(t, 0, e.status)
		require.Equal(t, pingPongDigest, o.Digest)
		require.Equal(t, 10, o.Clients[1].Sent)
		e = s.metasim("replay", o.RunDir, "--client", "ponger")
		require.Equal(t, 0, e.status, "it cannot tell a replay from the run")
	}
	s.clean()
}

// Clients in another language do what the built-in ones do, byte for byte: a stepper that goes on beyond the end of the run, and one that
// pings. One that fails says why.
func TestPythonModels(t *testing.T) {
	python := strings.TrimSuffix(pythonEcho(t), `, "echo"`)
	s := newStage(t)
	const links = "links:\n  - {delay: 3ms}\n"
	for name, c := range map[string]struct{ built, other, rest string }{
		"source": {"model: source, with: {channel: X, period: 10ms}", `run: [PYTHON, "source", "X", "10000000"]`,
			"  - {name: b, model: sink, with: {channels: [X]}}\n"},
		"ping": {"model: ping, with: {out: X, in: Y, rounds: 7}", `run: [PYTHON, "ping", "X", "Y", "7"]`,
			"  - {name: b, model: echo, with: {in: X, out: Y}}\n"},
	} {
		var digests []string
		for _, how := range []string{c.built, strings.ReplaceAll(c.other, "PYTHON", python)} {
			s.file("c.yaml", "name: x\nuntil: 95ms\nclients:\n  - {name: a, "+how+"}\n"+c.rest+links)
			o, e := s.run("c.yaml")
			require.Equal(t, 0, e.status, "%s: %s", name, e.err)
			digests = append(digests, o.Digest)
		}
		require.Equal(t, digests[0], digests[1], name)
	}
	s.file("c.yaml", "name: x\nuntil: 95ms\nclients:\n  - {name: a, run: ["+python+", \"fail\", \"no fuel\"]}\n")
	o, e := s.run("c.yaml")
	require.Equal(t, 1, e.status)
	require.Contains(t, o.Error, "it failed: no fuel")
}

// pythonEcho is a command in a scenario, up to the channels: a client that knows nothing but docs/protocol.md.
func pythonEcho(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no python3, so no client in another language was tried")
	}
	peer, err := filepath.Abs("../../wire/testdata/client.py")
	require.NoError(t, err)
	return `"` + python + `", "` + peer + `", "echo"`
}

// What a client asks for in vain is said once all have joined: on the standard error, in the outcome, and to whoever watches. A strict
// run ends because of it.
func TestLooseChannels(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", `name: x
until: 1s
clients:
  - {name: sim, model: source, with: {channel: STATE, period: 100ms}}
  - {name: log, model: sink, with: {channels: [".*"]}}
  - {name: plant, run: [`+pythonEcho(t)+`, "STAET", "CMD"]}
`)
	const typo = "plant subscribes to STAET, which nobody publishes; did you mean STATE?"
	o, e := s.run("c.yaml")
	require.Equal(t, 0, e.status)
	require.Equal(t, "warning: "+typo+"\n", e.err)
	require.Len(t, o.Warnings, 1)
	require.Equal(t, typo, o.Warnings[0].Text)
	require.Equal(t, "unused-subscription", o.Warnings[0].Kind)

	o, e = s.run("c.yaml", "--strict")
	require.Equal(t, 1, e.status)
	require.False(t, o.OK)
	require.Contains(t, o.Error, "the run is strict, and its channels do not fit together:\n  "+typo)
	require.Len(t, o.Warnings, 1)

	served := s.serve("c.yaml", "--strict")
	a, b, c := served.join("sim", "source", "--with", "channel=STATE", "--with", "period=100ms"),
		served.join("log", "sink", "--with", "channels=['.*']"), served.join("plant", "echo", "--with", "in=STAET", "--with", "out=CMD")
	require.Equal(t, 1, served.wait().status)
	for _, p := range []*running{a, b, c} {
		p.wait()
	}
	s.file("c.yaml", strings.ReplaceAll(withCommand("metasim PING PONG", ""), `"BIN"`, pythonEcho(t)))
	o, e = s.run("c.yaml", "--strict")
	require.Equal(t, 0, e.status, e.err)
	require.Empty(t, e.err)
	require.Empty(t, o.Warnings)
}
