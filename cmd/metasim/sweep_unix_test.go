//go:build unix

package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const swept = `
name: swept
sweep: {seed: {from: 1, to: 100}}
clients:
  - {name: pinger, model: ping, with: {rounds: 3, in: PONG, out: PING}}
  - {name: ponger, model: echo, with: {in: PING, out: PONG}}
links: [{delay: {uniform: {min: 1ms, max: 2ms}}}]
`

// A sweep whose metasim is killed, again and again, goes on with the same command, and each of its runs is in the table once.
func TestSweepIsKilled(t *testing.T) {
	s := raced(t)
	s.file("s.yaml", swept)
	var whole, st sweepOutcome
	e := s.metasim("sweep", "s.yaml", "--out", "whole", "--json")
	require.Zero(t, e.status, e.err)
	e.object(t, &whole)
	require.True(t, whole.OK)
	require.Equal(t, 100, whole.Done)
	cut := 0
	for done := 0; done < 100; {
		p := s.start(nil, "sweep", "s.yaml", "--out", "killed", "--progress", "none", "-j", "2")
		require.Eventually(t, func() bool {
			done = s.lines("killed/results.jsonl")
			return done >= min(100, 25*(cut+1))
		}, patience, time.Millisecond)
		if done < 100 {
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGKILL))
			if p.wait().status == -1 {
				cut++
			}
		} else {
			p.wait()
		}
	}
	require.Positive(t, cut, "it was killed")
	e = s.metasim("sweep", "s.yaml", "--out", "killed", "--json")
	require.Zero(t, e.status, e.err)
	require.Equal(t, s.digests("whole"), s.digests("killed"))
	e = s.metasim("sweep", "status", "killed", "--json")
	e.object(t, &st)
	require.Equal(t, 100, st.Done)
	require.Equal(t, 0, st.Failed)
	one, e := s.run("s.yaml", "--set", "seed=17")
	require.Zero(t, e.status, "a run of its own has the values of the file")
	require.Equal(t, s.digests("whole")[16], []string{"17", one.Digest})
	require.Contains(t, s.metasim("sweep", "table", "whole").out, "pinger.rounds")
}

// A report on a sweep is a page and a table: of each number over the runs that differ in their seed alone.
func TestSweepReport(t *testing.T) {
	s := newStage(t)
	s.file("s.yaml", strings.Replace(swept, "sweep: {seed: {from: 1, to: 100}}", "sweep: {seed: [1, 2, 3], clients.pinger.with.rounds: [2, 5]}", 1))
	require.Zero(t, s.metasim("sweep", "s.yaml", "--out", "o", "--progress", "none").status)
	var out sweepReport
	e := s.metasim("sweep", "report", "o", "--json")
	require.Zero(t, e.status, e.err)
	e.object(t, &out)
	require.Equal(t, []string{"clients.pinger.with.rounds"}, out.Varied)
	require.Len(t, out.Walls, 2)
	require.Len(t, out.Results, 4)
	require.NotEmpty(t, out.Holders)
	require.Equal(t, "pinger.rounds", out.Results[2].Result)
	require.Equal(t, []float64{3, 5, 0}, []float64{float64(out.Results[2].N), out.Results[2].Mean, *out.Results[2].StdDev})
	f, err := os.Open(filepath.Join(s.dir, "o", "report.csv"))
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"clients.pinger.with.rounds", "about", "name", "n", "mean", "ci95", "stddev", "min", "p25", "median", "p75", "max"}, rows[0])
	require.Equal(t, []string{"2", "wall", "wall_s", "3"}, rows[1][:4])
	require.Len(t, rows, 1+len(out.Walls)+len(out.Holders)+len(out.Results))
	page := string(s.read("o/report.html"))
	for _, part := range []string{"<h2>How long a run took</h2>", "<h2>For whom the others waited</h2>", "<h2>Results</h2>", "6 of 6 runs are done, 0 failed", "<td class=\"word\">pinger.rounds</td><td>3</td><td>5</td>"} {
		require.Contains(t, page, part)
	}
	require.NotContains(t, page, "{{")
	require.NotContains(t, page, "NaN")
	require.Contains(t, s.metasim("sweep", "report", "o").out, "page: o/report.html")
	require.Equal(t, 2, s.metasim("sweep", "report", ".").status, "no directory of a sweep")
	require.Contains(t, s.metasim("sweep", "report", "o", "--html", "no/such/page").err, "name other files with --html and --csv")
}

// If a sweep varies the seed alone, the list of other varied values is [] in JSON, not null. A single run has no deviation and no interval: both are null, not 0.
func TestSweepReportOfOneRun(t *testing.T) {
	s := newStage(t)
	s.file("s.yaml", strings.Replace(swept, "sweep: {seed: {from: 1, to: 100}}", "sweep: {seed: [1]}", 1))
	require.Zero(t, s.metasim("sweep", "s.yaml", "--out", "o", "--progress", "none").status)
	for _, what := range []string{"table", "report"} {
		out := s.metasim("sweep", what, "o", "--json").out
		require.Contains(t, out, `"varied":[]`)
		require.Contains(t, out, `{"values":[],"result":"pinger.rounds","n":1,"mean":3,"stddev":null,"ci95":null,`)
	}
	require.Contains(t, string(s.read("o/report.csv")), "result,pinger.rounds,1,3,,,3,3,3,3,3\n")
}

// lines counts the whole lines of a file; 0 if it is not there.
func (s *stage) lines(file string) int {
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "\n")
}

// digests returns the seeds and digests of the table of a sweep.
func (s *stage) digests(dir string) (rows [][]string) {
	f, err := os.Open(filepath.Join(s.dir, dir, "table.csv"))
	require.NoError(s, err)
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	require.NoError(s, err)
	require.Equal(s, "digest", table[0][4])
	for _, line := range table[1:] {
		rows = append(rows, []string{line[1], line[4]})
	}
	return rows
}

// What is typed wrong is told before anything runs; a run that fails is told with its number, and the rest goes on.
func TestSweepTypedWrong(t *testing.T) {
	s := newStage(t)
	s.file("s.yaml", swept)
	s.file("plain.yaml", strings.Replace(swept, "sweep:", "#", 1))
	for want, args := range map[string][]string{
		"nothing is varied; add sweep: to the scenario": {"plain.yaml"},
		"--vary: x: varies nothing":                     {"s.yaml", "--vary", "x"},
		"sweep: nosuch: \"nosuch\" is unknown here":     {"s.yaml", "--vary", "nosuch=1"},
		"has 10000000 values":                           {"s.yaml", "--vary", "seed={from: 1, to: 10000000}"},
		"use 1 or more":                                 {"s.yaml", "-j", "0"},
		"there is no transport \"x\"":                   {"s.yaml", "--transport", "x"},
		"there is no --progress \"x\"":                  {"s.yaml", "--progress", "x"},
		"--vary names seed twice":                       {"s.yaml", "--vary", "seed=1,2", "--vary", "seed=3"},
		"--vary: seed: has 1 twice":                     {"s.yaml", "--vary", "seed=1,2,1"},
		`sweep: until: changes nothing: with "1s" and with "1000ms" the runs are the same`: {"s.yaml", "--vary", "until=1s,1000ms"},
		"sweep: clients.pinger.with.rounds: changes nothing":                               {"s.yaml", "--vary", "clients.pinger.with.rounds=9,10", "--vary", "clients[0].with.rounds=9,10"},
		"has files, but no sweep.json":                                                     {"s.yaml", "--out", "."},
		"did you mean metasim sweep table?":                                                {"tabel", "."},
		"no directory of a sweep":                                                          {"status", "s.yaml"},
	} {
		e := s.metasim(append([]string{"sweep"}, args...)...)
		require.Equal(t, 2, e.status, "%v", args)
		require.Contains(t, e.err, want)
		require.NoDirExists(t, filepath.Join(s.dir, "sweeps"))
	}
	s.file("misspelt.yaml", strings.Replace(swept, "sweep: {seed: ", "sweep: {sed: [1], clients.pinger.with.rounds: [1, x, y], seed: ", 1))
	for _, command := range []string{"validate", "sweep"} {
		e := s.metasim(command, "misspelt.yaml")
		require.Equal(t, 2, e.status, command)
		require.Contains(t, e.err, `sweep: sed: "sed" is unknown here; did you mean "seed"?`)
	}
	require.Zero(t, s.metasim("validate", "s.yaml").status)
	s.file("outside.yaml", strings.Replace(swept, "model: echo, with: {in: PING, out: PONG}", "external: true", 1))
	e := s.metasim("sweep", "outside.yaml")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, `client "ponger" joins from outside`)
	require.Equal(t, 2, s.metasim("sweep", "status", "nothing").status)
	require.Equal(t, 2, s.metasim("sweep", "table", ".").status)

	s.file("fails.yaml", strings.Replace(strings.Replace(swept, "1ms, max: 2ms", "0s, max: 0s", 1), "to: 100}", "to: 2}, max_steps: [9, 3]", 1))
	e = s.metasim("sweep", "fails.yaml", "--out", "fails")
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "more than 3 steps")
	require.Contains(t, e.err, "2 of 4 runs failed: see the column error of fails/table.csv; --retry does them again")
	require.Equal(t, 4, s.lines("fails/results.jsonl"))
	require.Equal(t, "of 4 runs 2 have failed and 0 have not ended; they are left out\n", s.metasim("sweep", "table", "fails").err)
	s.file("says.yaml", "name: says\nsweep: {seed: [1, 2]}\nclients: [{name: a, run: [sh, -c, 'echo no such road']}]\n")
	require.Contains(t, s.metasim("sweep", "says.yaml", "--out", "says").err, "\nlast output of \"a\":\n  | no such road\n")
}

// A client that is started again when it dies needs the journal, also in a sweep that keeps none.
func TestSweepOfRestarts(t *testing.T) {
	s := raced(t)
	s.file("r.yaml", strings.Replace(strings.Replace(swept, "model: echo, with: {in: PING, out: PONG}",
		"run: [BIN, client, echo, --with, in=PING, --with, out=PONG], on_exit: restart", 1), "to: 100}", "to: 2}", 1))
	e := s.metasim("sweep", "r.yaml", "--out", "r")
	require.Zero(t, e.status, e.err)
	require.Len(t, s.digests("r"), 2)
}
