//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holds stops a worker of a shared sweep while it has runs, and returns what files of them there are.
func (s *stage) holds(p *running, dir string) (taken []string) {
	s.Helper()
	require.Eventually(s, func() bool {
		require.NoError(s, p.cmd.Process.Signal(syscall.SIGSTOP))
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		require.NoError(s, err)
		require.True(s, status.Stopped(), "it has ended before it was stopped")
		taken, err = filepath.Glob(filepath.Join(s.dir, dir, "shared/taken", fmt.Sprintf("*-%d-*", p.cmd.Process.Pid)))
		require.NoError(s, err)
		done, err := filepath.Glob(filepath.Join(s.dir, dir, "shared/done", "*"))
		require.NoError(s, err)
		if len(taken) > 0 && len(done) > 20 {
			require.Less(s, len(done), 180, "it was stopped in the middle")
			return true
		}
		require.NoError(s, p.cmd.Process.Signal(syscall.SIGCONT))
		return false
	}, patience, time.Millisecond)
	return taken
}

// Three processes that are started with the same command carry out each run once, without a coordinator, whichever of them is killed, or stopped for so long that the others take its run.
func TestSweepShared(t *testing.T) {
	s := raced(t)
	s.file("s.yaml", strings.Replace(swept, "to: 100}", "to: 200}", 1))
	e := s.metasim("sweep", "s.yaml", "--out", "alone", "--progress", "none")
	require.Zero(t, e.status, e.err)
	var all []*running
	for range 3 {
		all = append(all, s.start(nil, "sweep", "s.yaml", "--out", "shared", "--share", "-j", "1", "--silence", "3s", "--json"))
	}
	late := s.holds(all[0], "shared")
	s.holds(all[1], "shared")
	require.NoError(t, all[1].cmd.Process.Kill())
	require.Equal(t, -1, all[1].wait().status)
	var out, st sweepOutcome
	e = all[2].wait()
	require.Zero(t, e.status, e.err)
	require.Contains(t, e.err, "has not said anything for 3s; others take its runs")
	e.object(t, &out)
	require.Equal(t, []int{200, 200, 0}, []int{out.Runs, out.Done, out.Failed})
	require.Equal(t, s.digests("alone"), s.digests("shared"))
	require.Equal(t, 200, s.lines("shared/results.jsonl"))
	attempts := func() []string {
		name, _, _ := strings.Cut(filepath.Base(late[0]), "-")
		found, err := filepath.Glob(filepath.Join(s.dir, "shared/shared/done", name+"-*"))
		require.NoError(t, err)
		return found
	}
	require.Len(t, attempts(), 1)
	require.NoError(t, all[0].cmd.Process.Signal(syscall.SIGCONT))
	e = all[0].wait()
	require.Zero(t, e.status, e.err)
	require.Len(t, attempts(), 2, "the late attempt is there, to be compared")
	require.Equal(t, s.digests("alone"), s.digests("shared"))
	s.metasim("sweep", "status", "shared", "--json").object(t, &st)
	require.Equal(t, []int{200, 0, 0}, []int{st.Done, st.Failed, len(st.Poison)})
	require.Contains(t, s.metasim("sweep", "table", "shared").out, "pinger.rounds")
	e = s.metasim("sweep", "s.yaml", "--out", "shared", "--share", "--vary", "seed=1,2")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, "is the directory of another sweep: what is varied is not the same")
	e = s.metasim("sweep", "report", "shared")
	require.Zero(t, e.status, e.err)
	e = s.metasim("sweep", "resume", "shared", "--json")
	require.Zero(t, e.status, e.err)
	require.Equal(t, s.digests("alone"), s.digests("shared"))
	require.NoDirExists(t, filepath.Join(s.dir, "shared/shared"), "it is the directory of a sweep like any other")
}

// A worker that is stopped with Ctrl-C gives its runs back, and others need not wait until it was silent for long.
func TestSharedIsCutOff(t *testing.T) {
	s := newStage(t)
	s.file("s.yaml", strings.Replace(swept, "to: 100}", "to: 200}", 1))
	p := s.start(nil, "sweep", "s.yaml", "--out", "o", "--share", "-j", "1", "--progress", "none")
	taken := s.holds(p, "o")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	e := p.wait()
	require.NotZero(t, e.status)
	require.Contains(t, e.err, "of 200 runs are done, and the same command goes on")
	require.NoFileExists(t, taken[0])
	require.Contains(t, s.metasim("sweep", "status", "o").out, "of 200 runs done, 0 failed")
	e = s.metasim("sweep", "resume", "o", "--json")
	require.Zero(t, e.status, e.err)
	require.NotContains(t, e.err, "others take its runs")
	require.Len(t, s.digests("o"), 200)
}

// A run may take longer than a worker may be silent: its worker says that it is there.
func TestSharedLongRuns(t *testing.T) {
	s := newStage(t)
	s.file("s.yaml", strings.Replace(strings.Replace(swept, "to: 100}", "to: 2}", 1), "model: echo, with: {in: PING, out: PONG}",
		`run: [sh, -c, "sleep 5; exec \"$0\" client echo --with in=PING --with out=PONG", BIN]`, 1))
	var all []*running
	for range 3 {
		all = append(all, s.start(nil, "sweep", "s.yaml", "--out", "o", "--share", "-j", "1", "--silence", "3s", "--json", "--progress", "none"))
	}
	for _, p := range all {
		e := p.wait()
		require.Zero(t, e.status, e.err)
		require.NotContains(t, e.err, "others take its runs")
	}
	require.Equal(t, 2, s.lines("o/results.jsonl"))
}

// A run that costs its workers their lives is given up, and named; the others are carried out.
func TestSharedPoison(t *testing.T) {
	s := newStage(t)
	s.file("s.yaml", poisonous)
	died := 0
	for {
		e := s.metasim("sweep", "s.yaml", "--share", "-j", "2", "--silence", "3s", "--out", "o", "--json", "--progress", "none")
		if e.status == -1 {
			died++
			require.LessOrEqual(t, died, 3)
			continue
		}
		require.Equal(t, 1, e.status)
		var out sweepOutcome
		e.object(t, &out)
		require.Equal(t, []int{3, 1, 3}, []int{out.Done, out.Failed, died}, e.err)
		require.Equal(t, []int{1}, out.Poison)
		break
	}
	require.Contains(t, s.metasim("sweep", "status", "o").out, "run 1 was given up: workers were lost while they carried it out")
	table, err := os.ReadFile(filepath.Join(s.dir, "o", "table.csv"))
	require.NoError(t, err)
	require.Contains(t, string(table), "3 workers were lost while they carried it out; the last: it said nothing any more")
}
