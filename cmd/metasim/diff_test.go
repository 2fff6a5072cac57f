package main

import (
	"os"
	"path/filepath"
	"strings"
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
	require.Empty(t, e.err)
	require.Equal(t, `the scenarios differ:
  clients.pinger.with.size: nothing, 9
different at 5ms: pinger to ponger on PING
  A: message 0 of pinger, sent 0s, due 5ms: "\x00\x00\x00\x00\x00\x00\x00\x00"
  B: message 0 of pinger, sent 0s, due 5ms: "\x00\x00\x00\x00\x00\x00\x00\x00\x00"
caused by the change of the scenario, and by no client: clients.pinger.with.size: nothing, 9
digests that differ: deliveries, sends
`, e.out)

	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "d", "--set", "links[1].delay=51ms").status)
	e = s.metasim("diff", "a", "d", "--json")
	require.Equal(t, 1, e.status)
	require.JSONEq(t, `{
		"equal": false, "until": null, "changes": [{"path": "links[1].delay", "a": "50ms", "b": "51ms"}],
		"first": {
			"instant": [55000000, 0], "to": "pinger", "from": "ponger", "channel": "PONG",
			"a": {"from": "ponger", "channel": "PONG", "seq": 0, "sent": [5000000, 0], "due": [55000000, 0], "size": 8, "payload": "AAAAAAAAAAA="},
			"b": {"from": "ponger", "channel": "PONG", "seq": 0, "sent": [5000000, 0], "due": [56000000, 0], "size": 8, "payload": "AAAAAAAAAAA="}
		},
		"differ": ["deliveries", "sends"], "cause": "scenario", "culprit": "", "culprit_instant": null, "notes": []
	}`, e.out)
	require.Contains(t, s.metasim("diff", "a", "d").out, "caused by the change of the scenario, and by no client: links[1].delay: 50ms, 51ms\n")
}

// Runs of scenarios that have different ends are compared up to the earlier one, and no client is blamed. These two runs are
// equal up to then.
func TestDiffUntil(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", `name: chain
until: 100ms
clients:
  - {name: src, model: source, with: {channel: X, period: 1ms}}
  - {name: e, model: echo, with: {in: X, out: Y}}
  - {name: s, model: sink, with: {channels: [Y]}}
links:
  - {delay: 1ms}
`)
	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "a").status)
	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "b", "--until", "200ms").status)
	const changed = "the scenarios differ:\n  until: "
	require.Equal(t, ending{3, changed + "100ms, 200ms\nequal as far as both go, until 100ms\n", ""}, s.metasim("diff", "a", "b"))
	require.Equal(t, ending{3, changed + "200ms, 100ms\nequal as far as both go, until 100ms\n", ""}, s.metasim("diff", "b", "a"))

	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "c", "--until", "200ms", "--set", "clients.e.with.out=Z").status)
	e := s.metasim("diff", "a", "c")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.out, "caused by the changes of the scenario, and by no client\n")
}

// Other clients, and a run that did not come to its end.
func TestDiffOfOthers(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", withCommand("echo PING PONG", ""))
	s.file("d.yaml", strings.Replace(withCommand("echo PING PONG", ""), "clients:\n", "clients:\n  - {name: other, model: sink, with: {channels: [PONG]}}\n", 1))
	require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", "a").status)
	require.Equal(t, 0, s.metasim("run", "d.yaml", "--out", "b").status)
	e := s.metasim("diff", "a", "b")
	require.Equal(t, 2, e.status)
	require.Empty(t, e.out)
	e.says(t, `only B has "other"`, "--anyway")
	e = s.metasim("diff", "a", "b", "--anyway")
	require.Equal(t, 0, e.status)
	require.Equal(t, "the scenarios differ:\n  clients.other: nothing, "+
		`{"model":"sink","name":"other","with":{"channels":["PONG"]}}`+"\nequal\n", e.out)

	s.file("e.yaml", withCommand("dies PING PONG", ""))
	require.Equal(t, 1, s.metasim("run", "e.yaml", "--out", "c").status)
	e = s.metasim("diff", "a", "c")
	require.Equal(t, 3, e.status)
	require.Contains(t, e.out, "equal as far as recorded, until 115ms\n")
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
		require.Equal(t, 0, s.start([]string{"GOMAXPROCS=" + procs}, "run", "c.yaml", "--out", procs, "--keep-env").wait().status)
	}
	e := s.metasim("diff", "1", "2")
	require.Equal(t, 1, e.status)
	require.Equal(t, `different at 6ms: liar to heard on LIES
  A: message 1 of liar, sent 1ms, due 6ms: "1"
  B: message 1 of liar, sent 1ms, due 6ms: "2"
caused by liar, at 1ms: what it received until then is the same, what it sent is not
digests that differ: deliveries, sends
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
		{[]string{"diff", "a"}, `two run directories, but was given ["a"]`},
		{[]string{"diff", "a", "nowhere"}, "nowhere is no run"},
		{[]string{"diff", "a", "a", "--types", "nowhere"}, "nowhere"},
	} {
		e := s.metasim(c.args...)
		require.Equal(t, 2, e.status, c.args)
		e.says(t, c.says)
	}
}
