//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/run"
	"metasim/run/doctor"
)

// fakeSlurm puts scripts before the programs of Slurm, if there are any, which start everything on this host. What salloc, squeue and scontrol answer is in the
// files of that name.
func (s *stage) fakeSlurm() (path string) {
	s.Helper()
	bin := filepath.Join(s.dir, "bin")
	require.NoError(s, os.MkdirAll(bin, 0o755))
	for name, text := range map[string]string{
		"salloc": `if test -e salloc; then . ./salloc; fi
echo "salloc: Granted job allocation 7" >&2
while test "$1" != sh; do shift; done
SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-2]' SLURM_TASKS_PER_NODE='1(x2)' exec "$@"`,
		"srun": `echo "$@" >>srun.args
while test "${1#--}" != "$1"; do test "${1#--nodelist=}" = "$1" || host=${1#--nodelist=}; shift; done
test $host != gone || { echo "srun: error: gone: unreachable" >&2; exit 1; }
exec env SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 "$@"`,
		"scontrol": `case "$*" in
*hostnames*) if test -e hostnames; then cat hostnames; else echo n1; echo n2; fi ;;
*) echo "JobId=7 JobState=$(cat state 2>/dev/null || echo RUNNING) Reason=None" ;;
esac`,
		"squeue":  `cat squeue`,
		"scancel": `echo "$@" >>cancelled`,
	} {
		require.NoError(s, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	return "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
}

// Without a cluster: what is asked of Slurm, what it refuses, and how that is told.
func TestSlurmFake(t *testing.T) {
	s := newStage(t)
	s.file("f.yaml", fakeClients)
	path := s.fakeSlurm()
	here := s.metasim("run", "f.yaml", "--json")
	var want, there run.Outcome
	here.object(t, &want)
	env := []string{path, "SLURM_JOB_ID="}
	start := func(args ...string) ending {
		return s.start(env, append([]string{"run", "f.yaml", "--json", "--launch", "slurm"}, args...)...).wait()
	}
	e := start("--nodes", "2")
	require.Zero(t, e.status, e.err)
	e.object(t, &there)
	require.Equal(t, want.Digests, there.Digests)
	require.Equal(t, []run.HostOutcome{{Name: "n1", Clients: []string{"a"}, Exit: "ended"}, {Name: "n2", Clients: []string{"b"}, Exit: "ended"}}, there.Hosts)
	require.Contains(t, string(s.read("srun.args")), "--jobid=7 --overlap --nodes=1 --ntasks=1 --nodelist=n2 ")

	start("--nodes", "2", "--hosts", "n2").object(t, &there)
	require.Equal(t, []string{"n2", "n1"}, []string{there.Hosts[0].Name, there.Hosts[1].Name}, "those that are named come first")

	s.file("salloc", "touch asked; exit 1") // what is wrong is told before anybody waits for hosts
	s.file("other.yaml", strings.ReplaceAll(fakeClients, "name: ", "name: another-"))
	require.Zero(t, s.metasim("run", "other.yaml", "--out", "other").status)
	s.file("placed.yaml", fakeClients+"hosts: [x, y]\nplacement: {y: [b]}\n")
	for says, args := range map[string]string{
		"--placement-from: s.yaml": "f.yaml --nodes 2 --placement-from s.yaml",
		`placement puts client "b" on host y, number 2 of hosts, and the run has 1; ask for more hosts`: "placed.yaml --nodes 1",
		"other has none of the clients that are started here; name a run of this scenario":              "f.yaml --placement-from other",
		"--nodes is -1; write how many": "f.yaml --nodes -1",
	} {
		e := s.start(env, append([]string{"run", "--launch", "slurm", "--out", "refused"}, strings.Fields(args)...)...).wait()
		require.Contains(t, e.err, says)
		require.Equal(t, 2, e.status)
		require.NoDirExists(t, filepath.Join(s.dir, "refused"))
	}
	require.NoFileExists(t, filepath.Join(s.dir, "asked"))

	s.file("salloc", "echo 'salloc: error: Job submit/allocate failed: Invalid account' >&2; exit 1")
	require.Contains(t, start().err, "no hosts come from Slurm: salloc: error: Job submit/allocate failed: Invalid account")
	s.file("salloc", "echo 'salloc: Pending job allocation 7' >&2; exec sleep 100")
	s.file("squeue", "Resources\n") // it may wait for ever
	waits := s.start(env, "run", "f.yaml", "--json", "--launch", "slurm")
	require.Eventually(t, func() bool { return strings.Contains(waits.err.String(), "job 7 waits for its hosts: Resources") }, patience/2, 20*time.Millisecond)
	require.NoError(t, waits.cmd.Process.Signal(os.Interrupt))
	require.Contains(t, waits.wait().outcome(t).Error, "stopped by signal: interrupt")
	require.Equal(t, "7\n", string(s.read("cancelled")))
	require.NoError(t, os.Remove(filepath.Join(s.dir, "cancelled")))
	s.file("squeue", "JobHeldUser\n")
	e = start()
	require.Contains(t, e.err, "job 7 waits for its hosts: JobHeldUser")
	require.Contains(t, e.err, "job 7 got no hosts: JobHeldUser; see sinfo")
	require.Equal(t, "7\n", string(s.read("cancelled")))
	s.file("salloc", "")
	s.file("hostnames", "n1\ngone\n")
	require.Contains(t, start().err, "not all hosts are ready: host gone was lost: srun: error: gone: unreachable; exit status 1; see metasim doctor --launch slurm")
	s.clean()

	s.file("hostnames", "n1\nn2\n")
	var r doctor.Report
	s.start([]string{path, "SLURM_JOB_ID=9", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=1(x2)"}, "doctor", "--launch", "slurm", "--json").wait().object(t, &r)
	require.Len(t, r.Hosts, 2)
	require.Regexp(t, `^it reaches this host at 127\.0\.0\.1:[0-9]+ over UDP`, r.Hosts[1].Checks[2].Found, "srun tells the address")

	s.file("hostnames", "n1\ngone\n")
	env = []string{path, "SLURM_JOB_ID=9", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=1,x"}
	require.Contains(t, start().err, `SLURM_TASKS_PER_NODE is "1,x", for 2 hosts`)
}

// The clients of one host do not wait until those of another one are started: the first host starts nothing here until a client on the second one runs.
func TestSlurmStartsSideBySide(t *testing.T) {
	s := newStage(t)
	s.file("f.yaml", strings.Replace(fakeClients, "model: sink, with: {channels: [A]}", `run: [sh, -c, ": >goes; exec \"$0\" client sink --with channels=[A]", BIN]`, 1))
	path := s.fakeSlurm()
	s.file("slow", `while read -r line; do
	case $line in *'"client":"a"'*) n=0; until test -e goes; do n=$((n+1)); test $n -lt 1000 || exit 1; sleep 0.01; done ;; esac
	printf '%s\n' "$line"
done | "$@"
`)
	srun := filepath.Join(s.dir, "bin", "srun")
	text, err := os.ReadFile(srun)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(srun, []byte(strings.Replace(string(text), "exec env", `test $host != n1 || set -- sh ./slow "$@"`+"\nexec env", 1)), 0o755))
	e := s.start([]string{path, "SLURM_JOB_ID="}, "run", "f.yaml", "--json", "--launch", "slurm", "--nodes", "2", "--set", "start_timeout=20s").wait()
	require.Zero(t, e.status, e.err)
	require.True(t, e.outcome(t).OK)
}

// A job that Slurm starts again goes on with its run, once its copy before does not write that any more.
func TestSlurmStartsAgain(t *testing.T) {
	s := newStage(t)
	s.file("f.yaml", strings.Replace(fakeClients, "links:", "rate: 1\nlinks:", 1))
	path := s.fakeSlurm()
	here := s.metasim("run", "f.yaml", "--set", "rate=0", "--json").outcome(t)
	begin := func(restarts string, args ...string) *running {
		env := []string{path, "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=1(x2)", "SLURM_RESTART_COUNT=" + restarts}
		return s.start(env, append([]string{"run", "f.yaml", "--launch", "slurm", "--json", "--out", "r"}, args...)...)
	}
	before := begin("1") // nothing is there yet: it begins
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "r", "journal"))
		return err == nil && joined(t, filepath.Join(s.dir, "r")) == 2
	}, patience/2, 10*time.Millisecond)
	again := begin("2")
	require.Eventually(t, func() bool { return strings.Contains(again.err.String(), "its copy before still writes the run") }, patience/2, 10*time.Millisecond)
	require.NoError(t, before.cmd.Process.Kill())
	require.Equal(t, -1, before.wait().status, "it was killed while it ran")
	require.Equal(t, here.Digests, again.wait().outcome(t).Digests)
	ended := begin("3").wait()
	require.Zero(t, ended.status, ended.err)
	require.Equal(t, here.Digests, ended.outcome(t).Digests, "the copy before has ended it")
	require.Contains(t, begin("3", "--seed", "9").wait().err, "r has a run of another scenario")
	require.Contains(t, begin("0").wait().err, "r is not empty")
	s.clean()
}

// outcome reads what metasim run --json printed.
func (e ending) outcome(t require.TestingT) (o run.Outcome) {
	e.object(t, &o)
	return o
}

const fakeClients = `name: two
until: 1s
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, model: sink, with: {channels: [A]}}
links: [{delay: 1ms}]
`

// poisonous is a sweep of which one run kills the worker that carries it out.
const poisonous = `name: poison
until: 1s
sweep: {clients.b.env: [[KILLS=no], [KILLS=yes], [KILLS=never]]}
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, run: [sh, -c, "test $KILLS != yes || while read key pid; do test $key != PPid: || kill -9 $pid; done </proc/$PPID/status; exec \"$0\" client sink --with channels=[A]", BIN], env: [KILLS=no]}
links: [{delay: 1ms}]
`

// A run that costs its workers their lives is given up, and named; the others are carried out. The sweep goes on from its directory, here.
func TestSweepPoison(t *testing.T) {
	s := newStage(t)
	path := s.fakeSlurm()
	s.file("s.yaml", poisonous)
	e := s.start([]string{path, "SLURM_JOB_ID="}, "sweep", "s.yaml", "--launch", "slurm", "--workers", "2", "--out", "o", "--json", "--progress", "none").wait()
	require.Equal(t, 1, e.status)
	var out sweepOutcome
	e.object(t, &out)
	require.Equal(t, []int{1}, out.Poison, e.err)
	require.Equal(t, 3, out.Done)
	require.Contains(t, string(s.read("o/results.jsonl")), "3 workers were lost while they carried it out; the last: the worker on host n")
	require.Contains(t, s.metasim("sweep", "status", "o").out, "run 1 was given up")
	lines := s.lines("o/results.jsonl")
	require.Equal(t, 1, s.metasim("sweep", "resume", "o", "-j", "1").status, "one has failed")
	require.Equal(t, lines, s.lines("o/results.jsonl"), "nothing is left to do")
	// One worker goes on after several such runs in a row.
	s.file("t.yaml", strings.Replace(strings.Replace(poisonous, "[KILLS=no], [KILLS=yes], [KILLS=never]", "[KILLS=yes], [KILLS=yes, N=2], [KILLS=yes, N=3], [KILLS=no]", 1), "env: [KILLS=no]", "env: [KILLS=no, N=1]", 1))
	e = s.start([]string{path, "SLURM_JOB_ID="}, "sweep", "t.yaml", "--launch", "slurm", "--workers", "1", "--out", "t", "--json", "--progress", "none").wait()
	e.object(t, &out)
	require.Equal(t, []int{0, 1, 2}, out.Poison, e.err)
	require.Equal(t, 4, out.Done, e.err)
	for says, args := range map[string]string{
		"use --workers with --launch slurm": "s.yaml --launch slurm -j 2", "say how many workers": "s.yaml --launch slurm", "are for --launch slurm": "s.yaml --workers 2",
		"no launcher \"ssh\" for a sweep": "s.yaml --launch ssh", "has no sweep.json": "resume bin",
	} {
		e := s.metasim(append([]string{"sweep"}, strings.Fields(args)...)...)
		require.Equal(t, 2, e.status, e.err)
		require.Contains(t, e.err, says)
	}
}
