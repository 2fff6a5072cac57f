package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/golden"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/run"
	"metasim/server"
	"metasim/wire"
)

func TestOutcomeTable(t *testing.T) {
	o := &run.Outcome{
		Scenario: "cart-pole", OK: true, Deterministic: true, Digests: journal.Digests{Digest: pingPongDigest, SendsDigest: "5e", ResultsDigest: "7e"}, EndNS: 19_999_000_000, WallS: 0.0811,
		RunDir:   "runs/cart-pole-1",
		Messages: run.Messages{Sent: 23_000, Delivered: 22_500, Dropped: 480, Undelivered: 20},
		Traffic:  wire.Traffic{FramesIn: 8010, FramesOut: 4020, BytesIn: 1_234_567, BytesOut: 999}, Wakeups: 8000,
		Clients: []run.ClientOutcome{
			{Name: "controller", Exit: "left", Sent: 2000, Delivered: 1960, EndNS: 19_990_000_000, EndStep: 3, Grants: 1999,
				BusyS: 0.0123, BlockedS: 75.2, Result: json.RawMessage(`{}`)},
			{Name: "plant", Exit: "detached", Sent: 21_000, Delivered: 20_540, EndNS: 19_999_000_000, Grants: 12,
				BusyS: 1.5, BlockedS: 0.0000005, Result: json.RawMessage(`{ "stood": true, "largest_angle": 5 }`)},
		},
	}
	var b bytes.Buffer
	printOutcome(&b, o)
	golden.Equal(t, "testdata/outcome.txt", b.String())

	b.Reset()
	o.Deterministic = false
	for range 50 {
		o.Clients = append(o.Clients, o.Clients[1])
	}
	printOutcome(&b, o)
	require.Contains(t, b.String(), "... and 12 more: see --json\n")
	require.Contains(t, b.String(), "deterministic: no")
}

// The outcome repeats what was warned of when the run began, and says what is known at its end only; of each kind the first few.
func TestOutcomeWarnings(t *testing.T) {
	o := &run.Outcome{Warnings: []run.Warning{{Kind: "unheard-channel", Text: "nobody subscribes to X of a"}, {Kind: "slow-disk", Text: "slow"}}}
	for range 7 {
		o.Warnings = append(o.Warnings, run.Warning{Kind: "saturated-link", Text: "a link"})
	}
	var b bytes.Buffer
	printOutcome(&b, o)
	require.Contains(t, b.String(), "warning: nobody subscribes to X of a\nwarning: slow\n"+strings.Repeat("warning: a link\n", 5)+
		"warning: 2 more like these (saturated-link): see --json\n")
}

// Of a run over several hosts it is said how many clients each had, and which was lost.
func TestOutcomeHosts(t *testing.T) {
	o := &run.Outcome{Hosts: []run.HostOutcome{{Name: "n1", Clients: []string{"a", "b"}, Exit: "ended"}, {Name: "n2", Exit: "host n2 was lost: killed"}}}
	var b bytes.Buffer
	printOutcome(&b, o)
	require.Contains(t, b.String(), "\nhosts: clients on n1 (2), n2 (0, lost)\n")
	for range 40 {
		o.Hosts = append(o.Hosts, o.Hosts[0])
	}
	printOutcome(&b, o)
	require.Contains(t, b.String(), ", n1 (2), 2 more (see --json)\n")
	b.Reset()
	o.Hosts = o.Hosts[:1] // this one, as ever
	printOutcome(&b, o)
	require.NotContains(t, b.String(), "hosts:")
}

// Who waited for memory is said, and that more was on its way than the bound.
func TestOutcomeMemory(t *testing.T) {
	o := &run.Outcome{HeldBytes: 3_000_000, MemoryBytes: 2_000_000}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		o.Clients = append(o.Clients, run.ClientOutcome{Name: name, MemoryS: 1.5})
	}
	var b bytes.Buffer
	printOutcome(&b, o)
	require.Contains(t, b.String(), "memory: a waited 1.5s, b waited 1.5s, c waited 1.5s, 2 more waited (see --json) for the slower ones to handle what "+
		"was sent; at most 3 MB were held, of 2 MB\n")
	require.Contains(t, b.String(), "memory: 3 MB had to be on their way at one time, more than the bound of 2 MB; shorten delays, or raise memory\n")
	b.Reset()
	printOutcome(&b, &run.Outcome{HeldBytes: 1, MemoryBytes: 2})
	require.NotContains(t, b.String(), "memory")
}

// A fast source and sinks that hear it a second later: the bound changes no digest.
func TestRunMemory(t *testing.T) {
	s := newStage(t)
	s.file("m.yaml", `
name: flood
clients:
  - {name: source, model: source, with: {channel: A, period: 100us, count: 8000, size: 1000}}
  - {name: sink, count: 4, model: sink, with: {channels: [A]}}
links:
  - {delay: 100ms}
`)
	free, e := s.run("m.yaml", "--memory", "off")
	require.Zero(t, e.status, e.err)
	require.Zero(t, free.MemoryBytes)
	bound, e := s.run("m.yaml", "--memory", "1MiB")
	require.Zero(t, e.status, e.err)
	require.Equal(t, free.Digest, bound.Digest)
	require.Equal(t, 1<<20, bound.MemoryBytes)
	// Of a message 1000 + 64 + 4 * 64 bytes. 1000 of them are on their way for 100 ms whatever the bound; without it there may be 8,000.
	require.Less(t, bound.HeldBytes, 4<<20)
	for _, text := range []string{"0MiB", "1", "1 MiB", "12XB", "-1MB"} {
		e := s.metasim("run", "m.yaml", "--memory", text)
		require.Equal(t, 2, e.status)
		require.Contains(t, e.err, "write, for example, 256MiB")
	}
	e = s.metasim("replay", bound.RunDir)
	require.Zero(t, e.status, e.err)
	s.reportsMemory(bound)
}

// reportsMemory checks that the report finds in the journal what the run said: who waited for memory, and for how long. Whether anybody did
// depends on who is faster.
func (s *stage) reportsMemory(run outcome) {
	var report struct {
		MemoryS float64 `json:"memory_s"`
		Clients []struct {
			Name    string
			MemoryS float64 `json:"memory_s"`
		}
		Blame []struct {
			Waiting string
			HeldBy  string `json:"held_by"`
		}
	}
	s.metasim("report", run.RunDir, "--json").object(s, &report)
	require.Len(s, report.Clients, len(run.Clients))
	for _, c := range report.Clients {
		for _, told := range run.Clients {
			if told.Name == c.Name {
				require.InDelta(s, told.MemoryS, c.MemoryS, 0.01*run.WallS, c.Name)
			}
		}
	}
	for _, b := range report.Blame {
		require.NotEmpty(s, b.HeldBy, "nobody waits for the pace of the run")
	}
	if report.MemoryS > 0 {
		require.Contains(s, s.metasim("report", run.RunDir, "--explain").out, "memory: of blocked")
	}
}

// What a person sees of a run, with what the wall clock says taken out.
func TestRunTable(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	e := s.metasim("run", "p.yaml")
	text := regexp.MustCompile(`\d+ +[\d.]+(µs|ms|s) +[\d.]+(µs|ms|s)\n`).ReplaceAllString(e.out, "WALL\n")
	text = regexp.MustCompile(`in [\d.]+\S+, [\d.]+ times`).ReplaceAllString(text, "in WALL, N times")
	text = regexp.MustCompile(`traffic: .*`).ReplaceAllString(text, "traffic: as it came")
	text = regexp.MustCompile(`  +`).ReplaceAllString(text, "  ") // the columns are as wide as the wall clock says
	golden.Equal(t, "testdata/run.txt", text)
}

func TestLogTable(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	s.run("p.yaml", "--seed", "2", "--set", "links[0].duplicate=0.5", "--set", "links[1].loss=0.2", "--until", "172ms")
	golden.Equal(t, "testdata/log.txt", s.metasim("log", filepath.Join("runs", "ping-pong-1")).out)
}

func TestProgressLine(t *testing.T) {
	ms := metasim.Time(time.Millisecond)
	for _, c := range []struct {
		now, until metasim.Time
		elapsed    time.Duration
		paused     bool
		want       string
	}{
		{0, 2000 * ms, time.Second, false, "starting"},
		{500 * ms, 2000 * ms, time.Second, false, "0.500 of 2.000 s    25 %   0.5 x real time   1s so far, 3s to go"},
		{1999 * ms, 2000 * ms, time.Millisecond, false, "1.999 of 2.000 s   100 %   1999 x real time   0s so far, 0s to go"},
		{2000 * ms, 2000 * ms, time.Second, false, "2.000 of 2.000 s   100 %   2 x real time   1s so far"},
		{1500 * ms, 0, time.Second, false, "1.500 s   1.5 x real time   1s so far"},
		{metasim.Forever, 2000 * ms, time.Second, false, "finishing"},
		{metasim.Forever, 0, time.Second, false, "finishing"},
		{500 * ms, 2000 * ms, time.Second, true, "0.500 of 2.000 s    25 %   paused: metasim ctl resume lets it go on"},
	} {
		require.Equal(t, c.want, reached{now: c.now, until: c.until, elapsed: c.elapsed, paused: c.paused}.line())
	}
	require.Equal(t, "1m5s", secondsText(65))
	require.Equal(t, "1.23s", secondsText(1.2345))
	require.Equal(t, "0s", secondsText(0))
}

// A trip is a run on its way.
type trip struct{}

func (trip) Time() metasim.Time        { return metasim.Second }
func (trip) Progress() server.Progress { return server.Progress{} }

// Where no line can be rewritten there is a new one now and then, if that is wanted, and one at the end.
func TestPlainLines(t *testing.T) {
	for kind, want := range map[string]string{
		"plain": `^1\.000 of 2\.000 s    50 %   [0-9.e+]+ x real time   .* so far, .* to go$`,
		"json":  `^\{"state":"running","simulated_s":1,"end_s":2,"elapsed_s":[0-9.e-]+,"factor":[0-9.e+]+,"eta_s":[0-9.e-]+\}$`,
	} {
		r, w := io.Pipe()
		p := newProgress(w, 2*metasim.Second, kind)
		p.first = time.Millisecond
		p.start(trip{})
		lines := bufio.NewScanner(r)
		for range 3 {
			require.True(t, lines.Scan())
			require.Regexp(t, want, lines.Text())
		}
		rest := make(chan string)
		go func() {
			text, _ := io.ReadAll(r) // the pipe ends without an error
			rest <- string(text)
		}()
		p.stop()
		require.NoError(t, w.Close())
		require.Contains(t, <-rest, "over")
	}
	for _, kind := range []string{"auto", "none"} {
		var none bytes.Buffer
		p := newProgress(&none, 0, kind)
		p.start(trip{})
		p.stop()
		require.Empty(t, none.String())
	}
	require.Equal(t, "plain", (&liveFlags{tui: true, progress: "auto"}).kind(nil))
	require.Equal(t, "auto", (&liveFlags{progress: "auto"}).kind(nil))
	require.Equal(t, "none", (&liveFlags{tui: true, progress: "none"}).kind(nil))
}

// How far a run is goes into a pipe too, if that is wanted: at least its end.
func TestProgressInAPipe(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", pingPong)
	e := s.metasim("run", "p.yaml", "--progress", "plain")
	require.Zero(t, e.status, e.err)
	require.Regexp(t, `(?m)^over after .*s$`, e.err)
	e = s.metasim("run", "p.yaml", "--progress=json", "--json")
	require.Zero(t, e.status, e.err)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(e.err[strings.LastIndex(strings.TrimSpace(e.err), "\n")+1:]), &line), e.err)
	require.Equal(t, "over", line["state"])
	require.Empty(t, s.metasim("run", "p.yaml").err)
	require.Empty(t, s.metasim("run", "p.yaml", "--progress", "none").err)
	e = s.metasim("run", "p.yaml", "--progress", "plian")
	require.Equal(t, 2, e.status)
	e.says(t, `--progress is "plian"`, "plain")
}
