package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "a").status)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "b", "--transport", "unix").status)
	e := s.metasim("diff", "a", "b")
	require.Equal(t, ending{0, "equal\n", ""}, e)

	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "c", "--set", "clients.pinger.with.size=9").status)
	e = s.metasim("diff", "a", "c")
	require.Equal(t, 1, e.status)
	require.Equal(t, "note: the scenarios differ: clients[0].with.size is nothing in A and 9 in B\n", e.err)
	require.Equal(t, `different at 5ms: pinger to ponger on PING
  A: message 0 of pinger, sent 0s, due 5ms: "\x00\x00\x00\x00\x00\x00\x00\x00"
  B: message 0 of pinger, sent 0s, due 5ms: "\x00\x00\x00\x00\x00\x00\x00\x00\x00"
caused by pinger, at 0s: what it received until then is the same, what it sent is not
`, e.out)

	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "d", "--set", "links[1].delay=51ms").status)
	e = s.metasim("diff", "a", "d", "--json")
	require.Equal(t, 1, e.status)
	require.JSONEq(t, `{
		"equal": false,
		"first": {
			"instant": [55000000, 0], "to": "pinger", "from": "ponger", "channel": "PONG",
			"a": {"from": "ponger", "channel": "PONG", "seq": 0, "sent": [5000000, 0], "due": [55000000, 0], "size": 8, "payload": "AAAAAAAAAAA="},
			"b": {"from": "ponger", "channel": "PONG", "seq": 0, "sent": [5000000, 0], "due": [56000000, 0], "size": 8, "payload": "AAAAAAAAAAA="}
		},
		"culprit": "", "culprit_instant": null,
		"notes": ["the scenarios differ: links[1].delay is \"50ms\" in A and \"51ms\" in B"]
	}`, e.out)
	require.Contains(t, s.metasim("diff", "a", "d").out, "caused by no client")
}

// TestDiffOfALiar: a program that is not deterministic is found, at its second message.
func TestDiffOfALiar(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", `name: lies
clients:
  - {name: liar, run: [BIN], env: [TEST_PROGRAM=liar]}
  - {name: heard, model: sink, with: {channels: [LIES]}}
links:
  - {delay: 5ms}
`)
	for _, procs := range []string{"1", "2"} {
		require.Equal(t, 0, s.start([]string{"GOMAXPROCS=" + procs}, "run", "c.yaml", "--out", procs).wait().status)
	}
	e := s.metasim("diff", "1", "2")
	require.Equal(t, 1, e.status)
	require.Equal(t, `different at 6ms: liar to heard on LIES
  A: message 1 of liar, sent 1ms, due 6ms: "1"
  B: message 1 of liar, sent 1ms, due 6ms: "2"
caused by liar, at 1ms: what it received until then is the same, what it sent is not
`, e.out)
	e = s.start([]string{"GOMAXPROCS=2"}, "replay", "1", "--client", "liar").wait()
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, `message 1 of "liar" is not what it was: then 1 bytes on "LIES" at 1ms: "1"; now 1 bytes on "LIES" at 1ms: "2"`)
}

func TestDiffTypes(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "a").status)
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "types"), 0o755))
	s.file("types/bad.lcm", "struct x { int99_t a; }\n")
	e := s.metasim("diff", "a", "a", "--types", "types")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, "bad.lcm:1:")
	s.file("types/bad.lcm", "struct x { int32_t a; }\n")
	require.Equal(t, 0, s.metasim("diff", "a", "a", "--types", "types").status)
}

func TestDiffRefuses(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "a").status)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"diff", "a"}, "two run directories, not 1"},
		{[]string{"diff", "a", "nowhere"}, "nowhere is no run"},
		{[]string{"diff", "a", "a", "--types", "nowhere"}, "nowhere"},
	} {
		e := s.metasim(c.args...)
		require.Equal(t, 2, e.status, c.args)
		e.says(t, c.says)
	}
}
