package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// why asks until the answer has all of these in it.
func (s *stage) why(dir, client string, parts ...string) string {
	s.Helper()
	args := []string{"why", "--run", dir}
	if client != "" {
		args = append(args, client)
	}
	var e ending
	require.Eventually(s, func() bool {
		e = s.metasim(args...)
		for _, part := range parts {
			if !strings.Contains(e.out, part) {
				return false
			}
		}
		return e.status == 0
	}, patience/2, 10*time.Millisecond, "%q", parts)
	require.Equal(s, 1, strings.Count(e.out, "\n"), "one sentence is wanted")
	return e.out
}

// Who holds the run up is named, with what its process does: it sleeps, it computes, it was stopped, it waits for what
// never comes. And the run says so by itself, once it has stalled.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		part       string
		stop       bool
		does, says string
	}{
		{"sleeper", false, "has said nothing for ", " sleeps in the kernel (its "},
		{"spinner", false, "has been computing for ", " % of a core"},
		{"spinner", true, "has said nothing for ", " was stopped by a signal: kill -CONT "},
		{"stuck", false, "has said nothing for ", " sleeps in the kernel (its "},
	} {
		name := c.part
		if c.stop {
			name += " stopped"
		}
		t.Run(name, func(t *testing.T) {
			s := raced(t)
			flag := filepath.Join(s.dir, "here")
			s.file("c.yaml", withCommand(c.part+" PING PONG", "", flag))
			p := s.start(nil, "run", "c.yaml", "--json", "--out", "out", "--stall", "300ms")
			pid := p.appears(flag)
			if c.stop {
				require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			}
			who := "process " + strconv.Itoa(pid)
			chain := "pinger at 110ms waits for ponger: ponger may answer at 115ms a message that it has received, + 50ms of delay on PONG; " +
				"ponger at 60ms " + c.does
			text := s.why("out", "", chain, who, c.says, "last line of its output: about to hang")
			require.Equal(t, c.part == "spinner", !strings.Contains(text, "sleeps"))
			s.why("out", "pinger", chain)
			require.Regexp(t, "^ponger at 60ms "+c.does, s.why("out", "ponger", who), "it does not wait")
			require.Zero(t, s.metasim("ctl", "pause", "--run", "out").status)
			require.Regexp(t, "^ponger at 60ms "+c.does, s.why("out", "ponger", who), "not for the pause either")
			require.Equal(t, 0, s.metasim("ctl", "quit", "--run", "out").status)
			e := p.wait()
			require.Equal(t, 1, e.status)
			require.Contains(t, e.err, "metasim: it was ended by metasim ctl quit")
			s.gone(pid)
			s.clean()
		})
	}
}

// A run that stalls says why, once and then less and less often.
func TestStall(t *testing.T) {
	s := raced(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", withCommand("stuck PING PONG", "", flag))
	p := s.start(nil, "run", "c.yaml", "--json", "--out", "out", "--stall", "200ms")
	p.appears(flag)
	// Before the program hangs, a slow machine may be silent too; then nothing more is heard, and all is one stall.
	said := regexp.MustCompile(`nothing was heard for ([0-9.]+) s: pinger at 110ms waits for ponger: .*about to hang`)
	require.Eventually(t, func() bool { return len(said.FindAllString(p.err.String(), -1)) >= 3 }, patience/2, 5*time.Millisecond)
	require.Equal(t, 0, s.metasim("ctl", "quit", "--run", "out").status)
	e := p.wait()
	least := 0.2
	for _, match := range said.FindAllStringSubmatch(e.err, -1) {
		silent, err := strconv.ParseFloat(match[1], 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, silent, least-0.05, "at doubling intervals: %s", e.err)
		least *= 2
	}
	require.Contains(t, e.err, "pinger at 110ms waits for ponger: ")
	require.Contains(t, e.err, "last line of its output: about to hang")
}

// A client that waits for what nobody sends is held up by whoever still might; here that is one who sleeps.
func TestWhyListener(t *testing.T) {
	s := newStage(t)
	flag := filepath.Join(s.dir, "here")
	listening := filepath.Join(s.dir, "listening")
	text := withCommand("sleeper PING PONG", "", flag)
	text = strings.Replace(text, "clients:\n", "clients:\n  - name: listener\n    run: [\"BIN\", \"SILENCE\", \"LISTENING\", \""+
		listening+"\"]\n    env: [TEST_PROGRAM=listener]\n  - {name: ghost, model: echo, with: {in: PONG, out: SILENCE}}\n", 1)
	s.file("c.yaml", text)
	p := s.start(nil, "run", "c.yaml", "--json", "--out", "out")
	p.appears(listening)
	p.appears(flag)
	s.why("out", "listener", "listener at ", " waits for ghost: ghost may answer at ", " a message that it has not received yet on SILENCE; ",
		"ghost at ", " waits for ponger: ", "ponger at 60ms has said nothing for ", " sleeps in the kernel")
	require.Equal(t, 0, s.metasim("ctl", "quit", "--run", "out").status)
	require.Equal(t, 1, p.wait().status)
}

// A run that is paused, stepped and let go on comes to the same digest.
func TestControl(t *testing.T) {
	for _, transport := range []string{"mem", "unix"} {
		t.Run(transport, func(t *testing.T) {
			s := raced(t)
			s.file("p.yaml", strings.NewReplacer("seed: 1", "seed: 1\nrate: 1", "model: echo, with: {in: PING, out: PONG}", "external: true").
				Replace(pingPong))
			p := s.start([]string{"METASIM_TOKEN=sesame"}, "run", "p.yaml", "--json", "--transport", transport, "--http", ":0", "--ready-file", "r")
			url := p.readyURL("r")
			ctl := func(args ...string) ending { return s.metasim(append([]string{"ctl"}, args...)...) }
			require.Equal(t, 0, ctl("pause").status)
			(&served{p, url, "sesame"}).ponger() // the run cannot begin before it is paused
			s.why("runs/ping-pong-1", "", "the run is paused at ", ", and metasim ctl resume lets it go on")
			for range 3 {
				require.Regexp(t, "^(a step: all that happens at the next time, as soon as its rate permits|paused at .*)\n$", ctl("step").out)
			}
			e := s.metasim("why", "pnger")
			require.Equal(t, 1, e.status)
			e.says(t, `has no client "pnger"; did you mean "pinger"?`)
			require.Equal(t, 0, ctl("until", "200ms").status)
			e = ctl("until", "soon")
			require.Equal(t, 1, e.status)
			e.says(t, "not a duration")
			require.Equal(t, 0, ctl("resume").status)
			e = p.wait()
			require.Equal(t, 0, e.status)
			var o outcome
			e.object(t, &o)
			require.Equal(t, pingPongDigest, o.Digest)
			s.clean()
			require.Equal(t, 0, s.metasim("replay", "runs/ping-pong-1").status)
			require.NoFileExists(t, filepath.Join(s.dir, "runs/ping-pong-1/live.json"))
			e = s.metasim("why", "--run", "runs/ping-pong-1")
			require.Equal(t, 2, e.status)
			e.says(t, "runs/ping-pong-1 does not go on: it is done")
		})
	}
}

// There is one clear sentence for a run that cannot be asked.
func TestNobodyToAsk(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	e := s.metasim("why")
	require.Equal(t, 2, e.status)
	e.says(t, "no run goes on in runs", "--run DIR")
	e = s.metasim("why", "--run", "nowhere")
	require.Equal(t, 2, e.status)
	e.says(t, "nowhere is no run")
	e = s.metasim("why", "--run", "p.yaml")
	require.Equal(t, 2, e.status)
	e.says(t, "p.yaml is no run")
	e = s.metasim("why", "this", "that")
	require.Equal(t, 2, e.status)
	e.says(t, "why takes the name of one client")
	e = s.metasim("ctl", "pause", "--http", "here")
	require.Equal(t, 2, e.status)
	e.says(t, `"here" is no address of a run`)
	e = s.metasim("ctl", "pause", "--http", ":1")
	require.Equal(t, 1, e.status)
	e.says(t, "127.0.0.1:1 does not answer", "refused")
	e = s.metasim("ctl", "jump")
	require.Equal(t, 2, e.status)
	e.says(t, `"jump"`, "pause, resume, step, until, quit")
	e = s.metasim("run", "p.yaml", "--http", "0.0.0.0:0")
	require.Equal(t, 1, e.status)
	e.says(t, "other hosts could reach 0.0.0.0:0", "--http-outside")
	e = s.metasim("run", "p.yaml", "--stall", "-1s")
	require.Equal(t, 2, e.status)
	e.says(t, "--stall is -1s", "0 for never")
	e = s.metasim("run", "p.yaml", "--http-outside")
	require.Equal(t, 2, e.status)
	e.says(t, "--http-outside says who may see the page of --http")
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--stall", "1ns", "--out", "hasty").status)
	e = s.metasim("run", "p.yaml", "--http", "8080")
	require.Equal(t, 1, e.status)
	e.says(t, `"8080" is no address to listen at`)

	// One that was killed has left its address behind.
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", withCommand("stuck PING PONG", "", flag))
	p := s.start(nil, "run", "c.yaml", "--out", "runs/killed")
	stuck := p.appears(flag)
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status)
	require.FileExists(t, filepath.Join(s.dir, "runs/killed/live.json"))
	e = s.metasim("why", "--run", "runs/killed")
	require.Equal(t, 1, e.status)
	e.says(t, "the run in runs/killed does not answer", "it is over, or was killed")
	e = s.metasim("why")
	require.Equal(t, 2, e.status)
	e.says(t, "no run goes on in runs")
	s.gone(stuck)
}
