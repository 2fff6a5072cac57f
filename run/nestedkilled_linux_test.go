package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/internal/testprogram"
	"metasim/record/journal"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
)

// nestedWorkers are workers that all hear one another, two of them in a scenario inside. Their run keeps to a rate; 0: to none.
func nestedWorkers(t *testing.T, dir, rate, more string) *scenarios.Scenario {
	t.Helper()
	replace := strings.NewReplacer("DIR", dir, "RATE", rate, "MORE", more)
	return composed(t, replace.Replace(`name: outer
until: 600ms
rate: RATE
clients:
  - {name: cell, model: scenario, with: {file: 1.yaml, expose: [OUT_runs, OUT_takes, OUT_steps, OUT_plant]}}
  - {name: steps, run: [BIN, step, DIR], env: [TEST_PROGRAM=worker] MORE}
  - {name: plant, model: source, with: {channel: OUT_plant, period: 3ms} MORE}
links:
  - {delay: 700us}
  - {from: cell/runs, delay: {normal: {mean: 20ms, stddev: 4ms, min: 2ms}}, loss: 0.01}
`), replace.Replace(`name: cell
clients:
  - {name: runs, run: [BIN, run, DIR], env: [TEST_PROGRAM=worker] MORE}
  - {name: takes, run: [BIN, next, DIR], env: [TEST_PROGRAM=worker] MORE}
links:
  - {delay: 1ms}
`))
}

// pidOf returns the number of the process that a worker is by now; 0: it has not begun.
func pidOf(dir, name string) int {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(string(text)) // what is no number is 0
	return pid
}

// TestKilledNestedClients kills clients of a run and of one that is nested in it, at random moments. Each is started again, and all is as in one flat run in
// which nobody died.
func TestKilledNestedClients(t *testing.T) {
	t.Parallel()
	quiet := carryOut(t, nestedWorkers(t, t.TempDir(), "0", ""), options(t, "unix"))
	for _, how := range []string{"nested", "apart"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			n := max(3, *kills/4)
			out := (*run.Outcome)(nil)
			for killed, runs := 0, 0; killed < n; runs++ { // a run that ends before all were killed begins again: on a busy machine who kills may be late
				require.Less(t, runs, 5, "runs that ended before all were killed")
				dir := t.TempDir()
				o := options(t, "unix")
				o.Nested, o.Apart = how == "nested", how == "apart"
				var killing sync.WaitGroup
				o.Watch = func(srv *server.Server) {
					killing.Go(func() { killed = killNested(t, srv, dir, n, quiet.Messages.Sent) })
				}
				out = carryOut(t, nestedWorkers(t, dir, "0", fmt.Sprintf(", on_exit: restart, restarts: %d", n)), o)
				killing.Wait()
			}
			restarts := 0
			for _, c := range out.Clients {
				restarts += c.Restarts
			}
			require.Equal(t, n, restarts)
			require.Equal(t, quiet.Digests, out.Digests)
			require.Equal(t, quiet.Messages, out.Messages)
		})
	}
}

// killNested kills processes of workers in turn, each when the outer run, which is told of nearly all messages, has sent so many. It returns how many it has killed.
func killNested(t *testing.T, srv *server.Server, dir string, n int, all uint64) int {
	names := []string{"runs", "steps", "takes"}
	killed := map[string]int{}
	for i := range n {
		at := (uint64(i)*8 + rand.Uint64N(8)) * all / uint64(10*n)
		name := names[i%len(names)]
		pid := pidOf(dir, name)
		for pid == killed[name] || srv.Snapshot().Totals.Sent < at {
			if srv.Snapshot().Over {
				return i
			}
			<-time.After(time.Millisecond)
			pid = pidOf(dir, name)
		}
		killed[name] = pid
		if err := kill(pid); err != nil && !srv.Snapshot().Over {
			t.Error(err)
			return n
		}
	}
	return n
}

// TestKilledNestedRun kills metasim itself, which is all dispatchers of a run or one of two, and the process of the nested run. The run ends, what is lost is
// named, nothing goes on without it, and who resumes the run is told what to do instead: that gives the result that the run would have had.
func TestKilledNestedRun(t *testing.T) {
	t.Parallel()
	quiet := carryOut(t, nestedWorkers(t, t.TempDir(), "0", ""), options(t, "unix"))
	for _, of := range []struct{ how, victim string }{{"nested", "metasim"}, {"apart", "metasim"}, {"apart", "cell"}} {
		t.Run(of.how+" "+of.victim, func(t *testing.T) {
			t.Parallel()
			for range max(1, *kills/20) {
				killNestedRun(t, of.how, of.victim, quiet)
			}
		})
	}
}

func killNestedRun(t *testing.T, how, victim string, quiet *run.Outcome) {
	signs, temp := t.TempDir(), shortdir.Make(t)
	sc := nestedWorkers(t, signs, "0.1", "") // it takes six seconds: it is killed before it ends
	dir := filepath.Join(t.TempDir(), "run")
	at := int64(0.3 * rand.Float64() * float64(journalSize(t, quiet.RunDir))) // the journal of the outer run becomes more than half of that of a flat one
	p := startNested(t, sc, dir, how, temp)
	require.Eventually(t, func() bool {
		info, err := os.Stat(filepath.Join(dir, "journal"))
		return err == nil && info.Size() >= at && pidOf(signs, "runs") > 0 && pidOf(signs, "takes") > 0 && pidOf(signs, "steps") > 0 &&
			len(withTemp(t, temp)) >= 6 // metasim, a supervisor and four clients: the last may not have begun
	}, time.Minute, time.Millisecond, &p.err)
	pid := p.cmd.Process.Pid
	if victim == "cell" {
		var err error
		pid, err = cellOf(pidOf(signs, "runs"))
		require.NoError(t, err)
	}
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	err := p.cmd.Wait()
	advice := "had several dispatchers, and each is behind the others somewhere: it cannot go on; carry it out again, without --nested if its server may die"
	if victim == "cell" {
		require.EqualError(t, err, "exit status 1")
		require.Contains(t, p.err.String(), `the process of the scenario inside "cell" was lost at `)
		require.Contains(t, p.err.String(), "(signal: killed)", "what it has started ends by itself, and is not named")
	} else {
		require.EqualError(t, err, "signal: killed", &p.err)
	}
	require.Eventually(t, func() bool { return len(withTemp(t, temp)) == 0 }, time.Minute, 10*time.Millisecond, "processes are left")
	_, err = run.Resume(t.Context(), recorded(t, dir), run.Options{})
	require.ErrorContains(t, err, advice)

	sockets, err := filepath.Glob(filepath.Join(temp, "*", "*"))
	require.NoError(t, err)
	for _, socket := range sockets {
		require.NoError(t, os.Chtimes(socket, time.Time{}, time.Now().Add(-time.Hour)), "as if that was an hour ago")
	}
	p = startNested(t, nestedWorkers(t, signs, "0", ""), filepath.Join(t.TempDir(), "again"), how, temp)
	require.NoError(t, p.cmd.Wait(), &p.err)
	var digests journal.Digests
	require.NoError(t, json.Unmarshal(p.out.Bytes(), &digests))
	require.Equal(t, quiet.Digests, digests)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left, "sockets of processes that were killed are left")
}

// A nestedProcess carries out a run that has others nested in it.
type nestedProcess struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// startNested starts one, with a directory for temporary files.
func startNested(t *testing.T, sc *scenarios.Scenario, dir, how, temp string) *nestedProcess {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &nestedProcess{cmd: exec.Command(self, filepath.Join(sc.Dir, "0.yaml"), dir, "unix", how)}
	p.cmd.Env = append(os.Environ(), testprogram.Env("killedServer"), "TMPDIR="+temp)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	require.NoError(t, p.cmd.Start())
	return p
}

// withTemp returns the processes whose temporary files are in a directory.
func withTemp(t *testing.T, dir string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range all {
		env, err := os.ReadFile(file)
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), "TMPDIR="+dir) { // who has ended, or is somebody else's, cannot be read
			pids = append(pids, file)
		}
	}
	return pids
}
