package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record/journal"
	"metasim/run"
)

// outcome is what other programs read of `metasim run --json`, spelled as they spell it.
type outcome struct {
	Scenario      string  `json:"scenario"`
	Seed          uint64  `json:"seed"`
	OK            bool    `json:"ok"`
	Error         string  `json:"error"`
	Deterministic bool    `json:"deterministic"`
	Digest        string  `json:"digest"`
	SendsDigest   string  `json:"sends_digest"`
	ResultsDigest string  `json:"results_digest"`
	EndNS         int64   `json:"end_ns"`
	WallS         float64 `json:"wall_s"`
	RunDir        string  `json:"run_dir"`
	Messages      struct {
		Sent        int `json:"sent"`
		Delivered   int `json:"delivered"`
		Dropped     int `json:"dropped"`
		Undelivered int `json:"undelivered"`
	} `json:"messages"`
	traffic
	Wakeups     uint64  `json:"wakeups"`
	RoundsS     float64 `json:"rounds_s"`
	HeldBytes   int     `json:"held_bytes"`
	MemoryBytes int     `json:"memory_bytes"`
	Warnings    []struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"warnings"`
	Clients []struct {
		Name      string          `json:"name"`
		Digest    string          `json:"digest"`
		Sends     string          `json:"sends_digest"`
		Sent      int             `json:"sent"`
		Delivered int             `json:"delivered"`
		EndNS     int64           `json:"end_ns"`
		EndStep   int             `json:"end_step"`
		Grants    int             `json:"grants"`
		BusyS     float64         `json:"busy_s"`
		BlockedS  float64         `json:"blocked_s"`
		MemoryS   float64         `json:"memory_s"`
		Restarts  int             `json:"restarts"`
		Exit      string          `json:"exit"`
		Result    json.RawMessage `json:"result"`
		traffic
	} `json:"clients"`
	Hosts []run.HostOutcome `json:"hosts"`
}

// traffic is how much was said.
type traffic struct {
	FramesIn  uint64 `json:"frames_in"`
	FramesOut uint64 `json:"frames_out"`
	BytesIn   uint64 `json:"bytes_in"`
	BytesOut  uint64 `json:"bytes_out"`
}

// run runs a scenario with --json.
func (s *stage) run(args ...string) (outcome, ending) {
	s.Helper()
	e := s.metasim(append([]string{"run", "--json"}, args...)...)
	var o outcome
	e.object(s, &o)
	return o, e
}

func TestRunJSON(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	e := s.metasim("run", "p.yaml", "--json")
	require.Equal(t, 0, e.status)
	require.Empty(t, e.err)
	d := json.NewDecoder(strings.NewReader(e.out))
	d.DisallowUnknownFields()
	var o outcome
	require.NoError(t, d.Decode(&o), "fields are as documented")
	require.EqualValues(t, 1, o.Seed)
	require.Equal(t, []any{"ping-pong", true, "", true}, []any{o.Scenario, o.OK, o.Error, o.Deterministic})
	require.Equal(t, pingPongDigest, o.Digest)
	require.Equal(t, "13552fdb6832747b31c4b4d5ee4452c9fed7977bc9bd5843faf1613c0ab888b0", o.SendsDigest)
	require.Equal(t, "00f1ff745de98837c30edba6c635c246ad695eea5aacc751eb5fcd7154a152cf", o.ResultsDigest)
	require.EqualValues(t, 550_000_000, o.EndNS)
	require.Positive(t, o.WallS)
	require.Equal(t, filepath.Join("runs", "ping-pong-1"), o.RunDir)
	require.Equal(t, [4]int{20, 20, 0, 0}, [4]int{o.Messages.Sent, o.Messages.Delivered, o.Messages.Dropped, o.Messages.Undelivered})
	require.Len(t, o.Clients, 2)
	ping, pong := o.Clients[0], o.Clients[1]
	require.Equal(t, []string{"pinger", "ponger"}, []string{ping.Name, pong.Name})
	require.Equal(t, []string{"pinger", "ponger"}, o.Hosts[0].Clients)
	require.EqualValues(t, 550_000_000, ping.EndNS)
	require.EqualValues(t, 500_000_000, pong.EndNS)
	require.JSONEq(t, `{"rounds":10}`, string(ping.Result))
	for _, c := range o.Clients {
		require.Equal(t, 10, c.Sent)
		require.Equal(t, 10, c.Delivered)
		require.Equal(t, "left", c.Exit)
		require.Positive(t, c.Grants)
		require.Len(t, c.Digest, 64)
		require.Len(t, c.Sends, 16)
	}
	second, _ := s.run("p.yaml")
	require.Equal(t, filepath.Join("runs", "ping-pong-2"), second.RunDir)
	third, _ := s.run("p.yaml", "--out", "here/it/is", "--seed", "7", "--set", "clients.pinger.with.rounds=3", "--until", "1s")
	require.Equal(t, "here/it/is", third.RunDir)
	require.EqualValues(t, 7, third.Seed)
	require.Equal(t, 6, third.Messages.Sent)
}

// Traffic is counted for the run, and for each client that has a connection of its own: clients in the server's process have none.
// How much is sent depends on real time, so the test knows only the least: each client joins, sends and reports once a round, and leaves.
func TestRunCountsTraffic(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	for transport, least := range map[string]uint64{"mem": 20 * 8, "unix": 20 * (8 + 20)} {
		o, e := s.run("p.yaml", "--transport", transport)
		require.Equal(t, 0, e.status)
		each := o.traffic
		if transport == "mem" {
			each = traffic{}
		}
		require.Equal(t, each, traffic{
			o.Clients[0].FramesIn + o.Clients[1].FramesIn, o.Clients[0].FramesOut + o.Clients[1].FramesOut,
			o.Clients[0].BytesIn + o.Clients[1].BytesIn, o.Clients[0].BytesOut + o.Clients[1].BytesOut,
		}, "nobody else was there")
		require.GreaterOrEqual(t, o.FramesIn, uint64(22), "%s: hello, ten rounds, and the last leave", transport)
		require.GreaterOrEqual(t, o.FramesOut, uint64(22), transport)
		require.GreaterOrEqual(t, min(o.BytesIn, o.BytesOut), least, transport)
		require.GreaterOrEqual(t, o.Wakeups, uint64(20), transport)
		require.LessOrEqual(t, o.Wakeups, o.FramesIn+2, "%s: a round takes in a frame at least, but for the end of a connection", transport)
	}
	s.file("many.yaml", "name: many\nclients:\n  - {name: m, count: 4, model: source, with: {channel: X, period: 1ms, count: 9}}\n")
	e := s.metasim("run", "many.yaml", "--json", "--pack", "4")
	var packed struct {
		traffic
		Clients []map[string]any
	}
	e.object(t, &packed)
	require.Positive(t, packed.FramesIn)
	require.NotContains(t, packed.Clients[0], "frames_in", "all four share one connection")
}

// Without a journal the outcome and the digest are the same, and what needs the journal says what to do.
func TestNoJournal(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	o, e := s.run("p.yaml", "--no-journal", "--out", "r")
	require.Equal(t, 0, e.status)
	require.Equal(t, pingPongDigest, o.Digest)
	require.Equal(t, "13552fdb6832747b31c4b4d5ee4452c9fed7977bc9bd5843faf1613c0ab888b0", o.SendsDigest)
	require.Equal(t, "00f1ff745de98837c30edba6c635c246ad695eea5aacc751eb5fcd7154a152cf", o.ResultsDigest)
	require.Equal(t, 20, o.Messages.Delivered)
	left, err := os.ReadDir(filepath.Join(s.dir, "r"))
	require.NoError(t, err)
	require.Len(t, left, 1, "%v", left)
	require.Equal(t, "manifest.json", left[0].Name())
	b, err := os.ReadFile(filepath.Join(s.dir, "r", "manifest.json"))
	require.NoError(t, err)
	require.Contains(t, string(b), pingPongDigest)
	s.run("p.yaml", "--out", "whole")
	for _, args := range [][]string{
		{"log", "r"}, {"log", "r", "--json"}, {"log", "r", "--lcm", "x"}, {"replay", "r"}, {"replay", "r", "--client", "pinger"},
		{"diff", "r", "whole"}, {"diff", "whole", "r"}, {"report", "r"},
	} {
		e := s.metasim(args...)
		require.Equal(t, 2, e.status)
		e.says(t, "the run has no journal", "--no-journal; carry it out again without that")
	}
	e = s.metasim("run", "p.yaml", "--no-journal", "--transport", "unix", "--listen", "no/such/dir")
	require.Equal(t, 1, e.status)
	e.says(t, "clients cannot join")
}

// The digest of a client is what the design says: anybody can compute it from the log.
func TestLogJSON(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	o, _ := s.run("p.yaml")
	type line struct {
		From    string    `json:"from"`
		To      string    `json:"to"`
		Channel string    `json:"channel"`
		Seq     uint64    `json:"seq"`
		Sent    [2]int64  `json:"sent"`
		Due     *[2]int64 `json:"due"`
		Size    int       `json:"size"`
		Payload []byte    `json:"payload"`
	}
	read := func(args ...string) (lines []line) {
		e := s.metasim(append([]string{"log", o.RunDir, "--json"}, args...)...)
		require.Equal(t, 0, e.status)
		require.Empty(t, e.err)
		for text := range strings.Lines(e.out) {
			d := json.NewDecoder(strings.NewReader(text))
			d.DisallowUnknownFields()
			var l line
			require.NoError(t, d.Decode(&l))
			lines = append(lines, l)
		}
		return lines
	}
	all := read()
	require.Len(t, all, 20)
	require.Equal(t, line{From: "pinger", To: "ponger", Channel: "PING", Due: &[2]int64{5_000_000, 0}, Size: 8,
		Payload: make([]byte, 8)}, all[0])
	require.Equal(t, all, read("--client", "ponger"), "both have all")
	total := sha256.New()
	for _, c := range o.Clients {
		h := sha256.New()
		for _, l := range all {
			if l.To != c.Name {
				continue
			}
			var b []byte
			b = binary.LittleEndian.AppendUint64(b, uint64(l.Due[0]))
			b = binary.LittleEndian.AppendUint32(b, uint32(l.Due[1]))
			b = binary.LittleEndian.AppendUint64(b, uint64(l.Sent[0]))
			b = binary.LittleEndian.AppendUint32(b, uint32(l.Sent[1]))
			for _, field := range [][]byte{[]byte(l.From), []byte(l.Channel), l.Payload} {
				b = append(binary.LittleEndian.AppendUint32(b, uint32(len(field))), field...)
			}
			h.Write(b)
		}
		require.Equal(t, c.Digest, hex.EncodeToString(h.Sum(nil)), c.Name)
		total.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(c.Name))), c.Name...))
		total.Write(h.Sum(nil))
	}
	require.Equal(t, o.Digest, hex.EncodeToString(total.Sum(nil)))
	table := s.metasim("log", o.RunDir)
	require.Equal(t, 21, strings.Count(table.out, "\n"), "a head, and a line for each message")
	nobody := s.metasim("log", o.RunDir, "--client", "nobody")
	require.Equal(t, 2, nobody.status)
	nobody.says(t, `"nobody"`, "pinger")
}

func TestValidateJSON(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	s.file("bad.yaml", "name: x\nsead: 4\nclients:\n  - {name: a, model: sorce}\n")
	type problem struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Path    string `json:"path"`
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	type verdict struct {
		OK       bool       `json:"ok"`
		Errors   *[]problem `json:"errors"`
		Warnings *[]problem `json:"warnings"`
		Advice   *[]problem `json:"advice"`
	}
	var v verdict
	e := s.metasim("validate", "--json", "p.yaml")
	e.object(t, &v)
	require.Equal(t, 0, e.status)
	require.Equal(t, verdict{true, &[]problem{}, &[]problem{}, &[]problem{}}, v, "lists, not null")
	require.Equal(t, "p.yaml is a good scenario\n", s.metasim("validate", "p.yaml").out)
	s.file("lonely.yaml", "name: x\nclients:\n  - {name: a, model: source, with: {channel: A, period: 1s, count: 1}}\n")
	require.Equal(t, "lonely.yaml can be run; it has warnings: 1\n", s.metasim("validate", "lonely.yaml").out)

	e = s.metasim("validate", "bad.yaml", "--json")
	e.object(t, &v)
	require.Equal(t, 2, e.status)
	require.Empty(t, e.err)
	require.False(t, v.OK)
	require.Len(t, *v.Errors, 2)
	require.Equal(t, problem{"bad.yaml", 2, 1, "sead", "", `"sead" is unknown here; did you mean "seed"?`}, (*v.Errors)[0])
	require.Equal(t, 4, (*v.Errors)[1].Line)

	e = s.metasim("validate", "bad.yaml")
	require.Equal(t, 2, e.status)
	require.Empty(t, e.out)
	require.True(t, strings.HasPrefix(e.err, "bad.yaml:2:1: "), "as editors expect: %s", e.err)
	require.Equal(t, 2, s.metasim("validate", "nofile.yaml", "--json").status)
}

// Every transport gives the same, with models as processes, and with a command among them.
func TestTransports(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", pingPong)
	s.file("c.yaml", withCommand("echo PING PONG", ""))
	for _, transport := range run.Transports {
		for _, file := range []string{"p.yaml", "c.yaml"} {
			o, e := s.run(file, "--transport", transport)
			require.Equal(t, 0, e.status)
			require.Empty(t, e.err)
			require.Equal(t, pingPongDigest, o.Digest, "%s over %s", file, transport)
			dir, err := journal.Open(filepath.Join(s.dir, o.RunDir))
			require.NoError(t, err)
			m, err := dir.Manifest()
			require.NoError(t, err)
			require.Equal(t, pingPongDigest, m.Digest)
			require.Equal(t, transport, m.Transport)
			if file == "c.yaml" {
				require.FileExists(t, filepath.Join(s.dir, o.RunDir, "clients", "ponger.stderr"))
				require.FileExists(t, filepath.Join(s.dir, o.RunDir, "clients", "ponger.stdout"))
			}
		}
	}
	s.clean()
}

// withCommand is ping-pong with one of the programs of this test as the ponger. Paths, which may have spaces, are its last arguments.
func withCommand(command, more string, paths ...string) string {
	words := append(strings.Fields(command), paths...)
	return fmt.Sprintf(`name: commanded
seed: 1
%s
clients:
  - {name: pinger, model: ping, with: {rounds: 10, out: PING, in: PONG}}
  - name: ponger
    run: ["BIN", "%s"]
    env: [TEST_PROGRAM=%s]
links:
  - {from: pinger, to: ponger, delay: 5ms}
  - {from: ponger, to: pinger, delay: 50ms}
`, more, strings.Join(words[1:], `", "`), words[0])
}

// withShell is ping-pong with a shell script as the ponger.
func withShell(script, more string) string {
	return fmt.Sprintf(`name: c
%s
clients:
  - {name: pinger, model: ping, with: {rounds: 10, out: PING, in: PONG}}
  - {name: ponger, run: [sh, -c, %q]}
`, more, script)
}

// A torn journal is read as far as it is good, and that is said.
func TestTornLog(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	o, _ := s.run("p.yaml")
	file := filepath.Join(s.dir, o.RunDir, "journal")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	all := s.metasim("log", o.RunDir, "--json").out
	require.NoError(t, os.WriteFile(file, half(whole), 0o644))
	e := s.metasim("log", o.RunDir, "--json")
	require.Equal(t, 3, e.status)
	e.says(t, "good up to byte")
	require.NotEmpty(t, e.out)
	good := strings.ReplaceAll(e.out, `,"undelivered":true`, "") // as far as this journal tells
	require.True(t, strings.HasPrefix(all, good), "the good part")
	require.NoError(t, os.WriteFile(file, []byte("no journal at all"), 0o644))
	e = s.metasim("log", o.RunDir)
	require.Equal(t, 2, e.status)
	e.says(t, "not a journal of metasim")
}

// A link that gets more than it carries is a warning with its load; one that carries all is none, nor is a burst.
func TestSaturated(t *testing.T) {
	s := newStage(t)
	s.file("x.yaml", `name: x
until: 10s
clients:
  - {name: camera, model: source, with: {channel: VIDEO, period: 10ms, size: 100000}}
  - {name: viewer, model: sink, with: {channels: [VIDEO]}}
links:
  - {channel: VIDEO, bandwidth: 10Mbit, delay: 5ms}
`)
	const text = "the link camera -> viewer on VIDEO is saturated: 80Mbit a second on a line for 10Mbit, a load of 800 %; " +
		"at 10s the line is 70s behind, with about 875 messages; send less on it, or give it more bandwidth"
	o, e := s.run("x.yaml", "--no-journal")
	require.Equal(t, 0, e.status)
	require.Equal(t, 876, o.Messages.Undelivered)
	require.Len(t, o.Warnings, 1)
	require.Equal(t, "saturated-link", o.Warnings[0].Kind)
	require.Equal(t, text, o.Warnings[0].Text)
	e = s.metasim("run", "x.yaml", "--no-journal")
	require.Contains(t, e.out, "\nwarning: "+text+"\n")
	o, _ = s.run("x.yaml", "--no-journal", "--set", "links[0].bandwidth=81Mbit")
	require.Empty(t, o.Warnings)
	o, _ = s.run("x.yaml", "--no-journal", "--set", "clients.camera.with.count=50", "--set", "clients.camera.with.start=9s")
	require.Empty(t, o.Warnings, "a burst")
	for _, verb := range []string{"run", "serve"} {
		require.Contains(t, s.metasim(verb, "--help").out, "  traffic      what went over the connections")
	}
}
