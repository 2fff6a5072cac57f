package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

func TestReplay(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", withCommand("echo PING PONG", ""))
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r", "--keep-env").status)

	e := s.metasim("replay", "r")
	require.Equal(t, 0, e.status)
	require.Contains(t, e.out, "the same: ")
	require.Contains(t, e.out, "digest: "+pingPongDigest)
	for _, name := range []string{"pinger", "ponger"} {
		e = s.metasim("replay", "r", "--client", name)
		require.Equal(t, 0, e.status)
		require.Equal(t, "the same: "+name+" was given 10 messages and sent 10; the end: it left\n", e.out)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	e = s.metasim("replay", "r", "--client", "ponger", "--", "env", testprogram.Env("echo"), self, "PING", "PONG")
	require.Equal(t, 0, e.status)
	e = s.metasim("replay", "r", "--client", "ponger", "--", "env", testprogram.Env("echo"), self, "PING", "PANG")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, `what "ponger" declares is not what it was: then publications ["PONG"]`)
	s.clean()
}

// TestReplayFindsADifference: both messages are told, and where they part.
func TestReplayFindsADifference(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	s.forge("r", `"rounds": 10`, `"rounds": 9`)
	e := s.metasim("replay", "r", "--client", "pinger")
	require.Equal(t, 1, e.status)
	e.says(t, `message 9 of "pinger" is not what it was: then 8 bytes on "PING"`, "now it leaves at")
}

// TestReplayOfACrash: a program in a module of its own that crashes when it is replayed is told with the instant, the number of the
// publish, and how it ended. Its library had more of what it published than had left it.
func TestReplayOfACrash(t *testing.T) {
	s := newStage(t)
	flag := filepath.Join(s.dir, "flag")
	program := embedder(t, "crasher.go.txt")
	const first = `message 9 of "crasher" is not what it was: then 3 bytes on "OUT" at 5ms: "4.0"; now its connection ended, `
	const more = `; it may have come up to message 11, as what it published last may not have left it`
	for how, says := range map[string]string{
		"exit":   first + "exit status 7" + more,
		"return": first + "exit status 0" + more,
		"kill":   first + "signal: killed" + more,
		"once":   "exit status 7; but when it ran again, authorized from instant to instant, all was the same",
		// The library sends what it has.
		"panic": `message 11 of "crasher" is not what it was: then 3 bytes on "OUT" at 5ms: "4.2"; now its connection ended, exit status 2`,
	} {
		require.NoError(t, os.WriteFile(flag, nil, 0o644))
		s.file("c.yaml", `name: crash
until: 100ms
clients:
  - {name: source, model: source, with: {channel: IN, period: 1ms}}
  - {name: crasher, run: ["`+program+`", IN, "`+flag+`", `+how+`]}
  - {name: sink, model: sink, with: {channels: [OUT]}}
links: [{delay: 2ms}]
`)
		require.Equal(t, 0, s.metasim("run", "c.yaml", "--out", how).status)
		require.Equal(t, 0, s.metasim("replay", how, "--client", "crasher").status)
		require.NoError(t, os.Remove(flag))
		e := s.metasim("replay", how, "--client", "crasher")
		require.Equal(t, 1, e.status)
		require.Contains(t, e.err, says+"\n")
		if how == "once" {
			continue
		}

		require.Equal(t, 1, s.metasim("run", "c.yaml", "--out", how+"-again").status)
		e = s.metasim("replay", how+"-again", "--client", "crasher")
		require.Equal(t, 0, e.status, "it crashes as it did then")
		require.Contains(t, e.out, "the end: its connection was lost, and the run failed")
		if how != "panic" {
			continue // how much left it is a matter of time
		}
		require.NoError(t, os.WriteFile(flag+".early", nil, 0o644))
		e = s.metasim("replay", how+"-again", "--client", "crasher")
		require.Equal(t, 1, e.status, "it crashes earlier")
		require.Contains(t, e.err, `message 5 of "crasher" is not what it was: then 3 bytes on "OUT" at 3ms: "2.2"; now its connection ended, exit status 2`)
		e = s.metasim("replay", how+"-again", "--client", "crasher", "--", program, "IN", flag, "kill")
		require.Equal(t, 3, e.status, "a command after -- is not started again")
		require.Regexp(t, `^the same as far as it went: crasher was given \d messages and sent \d of the 11 that it sent then; the end: `, e.out)
		require.NoError(t, os.Remove(flag+".early"))
	}
}

func TestReplayRefuses(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"replay"}, "takes one run directory"},
		{[]string{"replay", "r", "--", "echo"}, "use --client NAME"},
		{[]string{"replay", "r", "--client", "pinger", "--"}, "no command after --"},
		{[]string{"replay", "nowhere"}, "nowhere is no run"},
		{[]string{"replay", "r", "--client", "pinker"}, `did you mean "pinger"?`},
	} {
		e := s.metasim(c.args...)
		require.Equal(t, 2, e.status, c.args)
		e.says(t, c.says)
	}
}

// A client of a nested run, or of the run around one, is not replayed from this record, which has only what it sent here. The error names its own record.
func TestReplayOfNestedClients(t *testing.T) {
	s := newStage(t)
	s.file("room.yaml", `
name: room
clients:
  - {name: a, model: ping, with: {rounds: 3, in: PONG, out: PING}}
  - {name: b, model: echo, with: {in: PING, out: PONG}}
links: [{delay: 1ms}]
`)
	s.file("house.yaml", `
name: house
until: 9ms
clients:
  - {name: room, model: scenario, with: {file: room.yaml, expose: [PONG]}}
  - {name: door, model: sink, with: {channels: [PONG]}}
links: [{delay: 1ms}]
`)
	e := s.metasim("run", "house.yaml", "--nested", "--out", "n")
	require.Zero(t, e.status, e.err)
	nested := filepath.Join("n", "nested-room")
	for _, c := range []struct{ dir, client, says string }{
		{"n", "room/a", `client "room/a" took part in a run that was nested in this one, whose record is in ` + nested + "; replay that run"},
		{"n", "room", `"room" is a run that was nested in this one; its record is in ` + nested + "; replay that run"},
		{nested, "door", `client "door" took part outside of this run, which was nested; the record of the run around it is in n; replay that run`},
	} {
		e := s.metasim("replay", c.dir, "--client", c.client)
		require.Equal(t, 2, e.status)
		require.Contains(t, e.err, c.says)
	}
	require.Zero(t, s.metasim("replay", nested, "--client", "room/a").status)
	require.Zero(t, s.metasim("replay", "n", "--client", "door").status)
	e = s.metasim("log", "n", "--client", "room/a")
	require.Zero(t, e.status)
	require.Contains(t, e.err, "note: client \"room/a\" took part in a run that was nested in this one, whose record is in "+nested)
	require.Empty(t, s.metasim("log", nested, "--client", "room/a").err)
	require.Empty(t, s.metasim("log", "n", "--client", "door").err)
}
