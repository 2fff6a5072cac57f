package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
	"metasim/record/journal"
)

func TestReport(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)

	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "q", "--token", "hush", "--set", "until=1s").status)
	e := s.metasim("report", "q")
	require.Contains(t, strings.Join(strings.Fields(e.out), " "), "seed 1, metasim run p.yaml --out=q --set=until=1s --token=***")
	require.NotContains(t, e.out, "hush")
	e = s.metasim("report", "r")
	require.Equal(t, 0, e.status)
	for _, part := range []string{"ping-pong: ", " core", " frames and ", "digest: " + pingPongDigest, "  parallelism: of 2 clients, so many computed at once", "Who waited for whom", "pinger   ponger", "Links", "Cores"} {
		require.Contains(t, e.out, part)
	}
	e = s.metasim("report", "r", "--json", "--what-if", "client(ponger).speed=1000000", "--what-if", "cores=1")
	require.Equal(t, 0, e.status)
	var r report.Report
	require.NoError(t, json.Unmarshal([]byte(e.out), &r))
	require.Equal(t, "ping-pong", r.Scenario)
	require.Equal(t, pingPongDigest, r.Digest)
	require.True(t, r.Deterministic)
	require.Positive(t, r.Cores)
	require.Positive(t, r.Traffic.FramesIn)
	require.Positive(t, r.Traffic.RoundsS)
	require.Less(t, r.Traffic.RoundsS, r.WallS, "the server has one dispatcher")
	require.Positive(t, r.Machine.RoundsS)
	require.InDelta(t, r.WallS-r.CriticalConservativeS, r.Machine.PacedS+r.Machine.CoreWaitS+r.Machine.RoundsS+r.Machine.TransportS, 1e-9)
	require.InDelta(t, float64(r.Traffic.FramesIn+r.Traffic.FramesOut)/float64(r.Grants), r.FramesPerGrant, 1e-9)
	require.InDelta(t, r.WallS, r.Clients[0].WorkS+r.Clients[0].BlockedS+r.Clients[0].OverheadS, 1e-9)
	if s.clean(); !r.Played.Trusted { // the machine did something else meanwhile
		require.Empty(t, r.WhatIfs)
		require.Contains(t, r.Unpredicted, "no prediction is to be trusted")
		return
	}
	require.Len(t, r.WhatIfs, 1)
	require.Equal(t, "client(ponger).speed=1000000 cores=1", r.WhatIfs[0].Change)
	require.Less(t, r.WhatIfs[0].WallS, r.WallS)
}

func TestReportRefuses(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	for _, name := range []string{"r", "nameless"} {
		require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", name).status)
	}
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "mute", "--no-journal").status)
	require.NoError(t, os.Remove(filepath.Join(s.dir, "nameless", "manifest.json")))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{}, "takes one run directory"},
		{[]string{"nowhere"}, "nowhere is no run"},
		{[]string{"p.yaml"}, "p.yaml is no run, it is a file"},
		{[]string{"mute"}, "it was carried out with --no-journal; carry it out again without that flag"},
		{[]string{"nameless"}, "nameless has no manifest"},
		{[]string{"r", "--what-if", "faster"}, "what if faster: it is not a change; write link(FROM->TO).delay=5ms"},
		{[]string{"r", "--what-if", "client(pinker).speed=2"}, `the run has no client "pinker": did you mean "pinger"?`},
		{[]string{"r", "--what-if", "client(pinger).sped=2"}, `a client has no "sped" that can be changed: did you mean "speed"?`},
		{[]string{"r", "--what-if", "client(pinger).speed=-1"}, `"-1" is not a factor; write a positive number`},
		{[]string{"r", "--what-if", "client(pinger).promise=5"}, `"5" has no unit`},
		{[]string{"r", "--what-if", "link(pinger->ponger).loss=0"}, `write link(pinger->ponger).delay=5ms`},
		{[]string{"r", "--what-if", "link(pinger->pinger).delay=5ms"}, "no message can go from pinger to pinger: one has to publish"},
		{[]string{"r", "--what-if", "cores=0"}, `"0" is not a number of cores`},
	} {
		e := s.metasim(append([]string{"report"}, c.args...)...)
		require.Equal(t, 2, e.status, c.args)
		e.says(t, c.says)
	}
}

// A run that is not whole is told as far as it goes, and the report says so.
func TestReportOfWhatIsLeft(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	s.file("alone.yaml", "name: alone\nuntil: 1s\nclients:\n  - {name: only, model: source, with: {channel: A, period: 100ms}}\n")
	s.file("fails.yaml", "name: fails\nuntil: 1s\nclients:\n  - {name: good, model: source, with: {channel: A, period: 100ms}}\n"+
		"  - {name: bad, run: [go, no-such-verb]}\n")
	s.file("paced.yaml", "name: paced\nuntil: 500ms\nrate: 1\nclients:\n  - {name: only, model: source, with: {channel: A, period: 10ms}}\n")
	require.Equal(t, 0, s.metasim("run", "alone.yaml", "--out", "alone").status)
	require.Equal(t, 0, s.metasim("run", "paced.yaml", "--out", "paced").status)
	require.Equal(t, 1, s.metasim("run", "fails.yaml", "--out", "fails").status)
	for _, name := range []string{"torn", "empty", "killed", "robbed"} {
		require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", name).status)
	}
	torn := filepath.Join(s.dir, "torn", "journal")
	whole, err := os.ReadFile(torn)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(torn, half(whole), 0o644))
	require.NoError(t, os.Truncate(filepath.Join(s.dir, "empty", "journal"), 0))
	killed := journalDir(t, filepath.Join(s.dir, "killed"))
	m, err := killed.Manifest()
	require.NoError(t, err)
	m.Digest, m.OK, m.Error = "", false, "the run has not ended"
	require.NoError(t, killed.WriteManifest(m))
	require.NoError(t, os.Remove(filepath.Join(s.dir, "robbed", "journal")))
	e := s.metasim("report", "robbed")
	require.Equal(t, 2, e.status)
	e.says(t, "robbed has no journal")
	for name, says := range map[string][]string{
		"alone":  {"of 1 client, so many computed at once", "Clients"},
		"paced":  {"for the machine: the pace of the run, transport and dispatcher", "only the pace of the run"},
		"fails":  {`It failed: client "bad" was lost before it joined`, "There is nothing to report"},
		"torn":   {"This report covers only the beginning of the run: torn/journal is good up to byte", "Who waited for whom"},
		"empty":  {"This report covers only the beginning of the run", "There is nothing to report"},
		"killed": {"It has not ended, or was killed", "Who waited for whom"},
	} {
		e = s.metasim("report", name)
		want := 0
		if part := []string{"torn", "empty", "killed"}; slices.Contains(part, name) {
			want = 3
			e.says(t, name+"/journal")
		}
		require.Equal(t, want, e.status, e.err)
		for _, part := range says {
			require.Contains(t, strings.Join(strings.Fields(e.out), " "), part, name)
		}
		require.NotContains(t, e.out, "NaN")
		require.False(t, name == "paced" && strings.Contains(e.out, "What if"), "nothing else makes it faster")
		require.Equal(t, want, s.metasim("report", name, "--json", "--html", name+".html").status)
	}
}

func journalDir(t *testing.T, path string) journal.Dir {
	t.Helper()
	d, err := journal.Open(path)
	require.NoError(t, err)
	return d
}

func TestReportFiles(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	e := s.metasim("report", "r", "--html", "r.html", "--perfetto", "r.pftrace", "--plots", "plots/new")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, "Who waited for whom", "what is printed is what it was")
	require.Regexp(t, `^trace: r.pftrace, \d+(\.\d+)? (B|kB), \d+ events\n$`, e.err)
	for name, begins := range map[string]string{
		"r.html": "<!DOCTYPE html>", "r.pftrace": "\n", "plots/new/blame.svg": "<?xml", "plots/new/parallelism.png": "\x89PNG",
	} {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		require.NoError(t, err)
		require.Equal(t, begins, string(b[:len(begins)]), name)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "*.partial"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Two runs are put side by side: what differs in their scenarios comes first, then how long they took, then whether the prediction was right.
func TestReportOfTwoRuns(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "a").status)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "b", "--set", "links[0].delay=7ms", "--set", "seed=9").status)
	e := s.metasim("report", "a", "b")
	require.Equal(t, 0, e.status, e.err)
	text := strings.Join(strings.Fields(e.out), " ")
	for _, part := range []string{"links[0].delay: 5ms, 7ms", "seed: ", " link(*->*:PING).delay=7ms", "Clients, the greatest change", "pinger"} {
		require.Contains(t, text, part)
	}
	require.True(t, strings.HasPrefix(e.out, "The scenarios differ:\n  links[0].delay: 5ms, 7ms\n  seed: "), e.out)
	e = s.metasim("report", "a", "b", "--json")
	require.Equal(t, 0, e.status, e.err)
	var c report.Comparison
	require.NoError(t, json.Unmarshal([]byte(e.out), &c))
	require.Equal(t, c.PredictedS > 0, c.Unpredicted == "", "a run this short may be one that nothing is predicted of")
	if c.PredictedS > 0 {
		require.InDelta(t, (c.PredictedS-c.MeasuredS)/c.MeasuredS, c.OffShare, 1e-9)
	}

	text = strings.Join(strings.Fields(s.metasim("report", "a", "a").out), " ")
	require.Regexp(t, "^The scenarios are the same. both take the same: .* Nothing that differs can be predicted", text)
	for _, args := range [][]string{{"a", "b", "--html", "x.html"}, {"a", "b", "--what-if", "cores=1"}, {"a", "b", "a"}, {"a", "nowhere"}} {
		require.Equal(t, 2, s.metasim(append([]string{"report"}, args...)...).status, args)
	}
}

// Runs with other clients are put side by side only if that is wanted; of one that breaks off it is said, as of one run.
func TestReportOfOtherRuns(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	s.file("o.yaml", strings.Replace(pingPong, "clients:\n", "clients:\n  - {name: other, model: sink, with: {channels: [PONG]}}\n", 1))
	for dir, file := range map[string]string{"a": "p.yaml", "b": "o.yaml", "torn": "p.yaml"} {
		require.Equal(t, 0, s.metasim("run", file, "--out", dir).status)
	}
	for _, args := range [][]string{{"report", "a", "b"}, {"report", "a", "b", "--json"}} {
		e := s.metasim(args...)
		require.Equal(t, 2, e.status)
		require.Empty(t, e.out)
		e.says(t, `the runs do not have the same clients: only B has "other"`, "--anyway")
	}
	e := s.metasim("report", "b", "a", "--anyway")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, "Only A has other.\nThe clients that both have are compared.")
	var c report.Comparison
	s.metasim("report", "b", "a", "--anyway", "--json").object(t, &c)
	require.Equal(t, []string{"other"}, c.OnlyA)
	require.Empty(t, c.OnlyB)
	require.Len(t, c.Clients, 2)

	file := filepath.Join(s.dir, "torn", "journal")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, half(whole), 0o644))
	e = s.metasim("report", "a", "torn")
	require.Equal(t, 3, e.status)
	require.Contains(t, e.out, "The scenarios are the same.")
	e.says(t, "torn/journal is good up to byte")
	e = s.metasim("report", "a", "--anyway")
	require.Equal(t, 2, e.status)
	e.says(t, "name two, or leave it out")
}

func TestReportTables(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	require.Equal(t, 0, s.metasim("report", "r", "--csv", "tables/new", "--parquet", "parquet").status)
	for _, name := range []string{"clients", "links", "grants", "holds", "messages"} {
		b, err := os.ReadFile(filepath.Join(s.dir, "tables/new", name+".csv"))
		require.NoError(t, err)
		require.Contains(t, string(b), "pinger")
		b, err = os.ReadFile(filepath.Join(s.dir, "parquet", name+".parquet"))
		require.NoError(t, err)
		require.Regexp(t, `(?s)^PAR1.*pinger.*metasim .*PAR1$`, string(b))
	}
	for _, flag := range []string{"--csv", "--parquet"} {
		e := s.metasim("report", "r", flag, "p.yaml")
		require.Equal(t, 1, e.status)
		e.says(t, "the tables cannot be written")
	}
}

func TestReportFilesRefuse(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--html", "no/such/dir/x.html"}, "the page cannot be written"},
		{[]string{"--html", "r/x.html"}, "would lie in the directory of the run"},
		{[]string{"--perfetto", "no/such/dir/x"}, "the trace cannot be written"},
		{[]string{"--plots", "p.yaml"}, "the plots cannot be written"},
	} {
		e := s.metasim(append([]string{"report", "r"}, c.args...)...)
		require.Equal(t, 1, e.status, c.args)
		e.says(t, c.says)
		require.Empty(t, e.out, "a report whose file failed is not printed as if all were well")
	}
}

func TestRunReportsAtOnce(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", pingPong)
	e := s.metasim("run", "p.yaml", "--out", "r", "--report")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, pingPongDigest)
	require.Contains(t, e.out, "report: "+filepath.Join("r", "report.html"))
	require.Contains(t, e.out, "Who waited for whom")
	page, err := os.ReadFile(filepath.Join(s.dir, "r", "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "ping-pong - metasim report")
	require.Equal(t, 0, s.metasim("replay", "r").status, "the run is the run that it was")

	o, e := s.run("p.yaml", "--out", "q", "--report") // with --json
	require.Equal(t, 0, e.status)
	require.Equal(t, pingPongDigest, o.Digest)
	require.FileExists(t, filepath.Join(s.dir, "q", "report.html"))

	e = s.metasim("run", "p.yaml", "--report", "--no-journal")
	require.Equal(t, 2, e.status)
	e.says(t, "--no-journal leaves that out")
}

// Of two runs that differ in the delay of a rule, that rule is what was changed, and not each link that it decides about.
func TestARuleIsWhatDiffers(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", `name: x
until: 200ms
clients:
  - {name: a, model: source, with: {channel: X, period: 10ms}}
  - {name: b, model: source, with: {channel: Y, period: 10ms}}
  - {name: c, model: source, with: {channel: Z, period: 10ms}}
  - {name: ear, model: sink, with: {channels: [".*"]}}
links:
  - {delay: 5ms}
  - {channel: Z, delay: 3ms}
`)
	before, e := s.run("c.yaml")
	require.Equal(t, 0, e.status, e.err)
	for set, want := range map[string]string{
		"links[0].delay=9ms":                             "links[0].delay=9ms",
		"links[0].delay={uniform: {min: 9ms, max: 9ms}}": "link(*->*:X).delay=9ms link(*->*:Y).delay=9ms",
	} {
		after, e := s.run("c.yaml", "--set", set)
		require.Equal(t, 0, e.status, e.err)
		e = s.metasim("report", before.RunDir, after.RunDir, "--json")
		require.Equal(t, 0, e.status, e.err)
		var c report.Comparison
		require.NoError(t, json.Unmarshal([]byte(e.out), &c))
		require.Contains(t, strings.Join(c.Changes, " "), want)
		require.NotEqual(t, set == want, strings.Contains(strings.Join(c.Changes, " "), "link("))
	}
}

// The report of a nested run says what its clients wait for that wait for the outer one.
func TestReportOfANestedRun(t *testing.T) {
	s := newStage(t)
	s.file("room.yaml", `name: room
clients:
  - {name: src, model: source, with: {channel: A, period: 1ms, size: 20000}}
  - {name: near, model: sink, with: {channels: [A]}}
links: [{delay: 1ms}]
`)
	s.file("outer.yaml", `name: outer
until: 3s
memory: 2MiB
clients:
  - {name: room, model: scenario, with: {file: room.yaml}}
  - {name: slow, model: sink, with: {channels: [room/A]}}
links: [{delay: 2ms}]
`)
	e := s.metasim("run", "outer.yaml", "--nested", "--out", "n")
	require.Zero(t, e.status, e.err)
	var r report.Report
	require.NoError(t, json.Unmarshal([]byte(s.metasim("report", "n/nested-room", "--json").out), &r))
	require.True(t, r.Nested)
	require.Positive(t, r.PacedS)
	require.True(t, slices.ContainsFunc(r.Blame, func(b report.BlameReport) bool { return b.Waiting == "room/src" && b.HeldBy == "" && b.BlockedS > 0 }), "%+v", r.Blame)
	e = s.metasim("report", "n/nested-room")
	require.Regexp(t, `room/src +the run around it `, e.out)
	require.NotContains(t, e.out, "the pace of the run")
	var outer report.Report
	require.NoError(t, json.Unmarshal([]byte(s.metasim("report", "n", "--json").out), &outer))
	require.False(t, outer.Nested)
}
