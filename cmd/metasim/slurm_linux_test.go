package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testcluster"
	"metasim/internal/testprogram"
	"metasim/run"
	"metasim/run/doctor"
)

var allOnSlurm = flag.Bool("slurm", false, "run every shipped scenario on 1, 2 and 4 hosts of a cluster: some minutes")

// cluster gives the stage a cluster, on whose head metasim is started.
func (s *stage) cluster(hosts int) *testcluster.Cluster {
	s.Helper()
	c := testcluster.Start(s.T, hosts)
	s.program = c.Script(testprogram.Shipped(s.T))
	return c
}

const fourClients = `name: four
until: 1s
peer_timeout: 3s
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, model: echo, with: {in: A, out: B}}
  - {name: c, model: echo, with: {in: B, out: C}, on_exit: WHAT}
  - {name: d, model: sink, with: {channels: [C]}, on_exit: WHAT}
links: [{delay: 1ms}]
`

// paced is the scenario for so long that something may happen meanwhile.
func paced(onExit, until string) string {
	return strings.ReplaceAll(strings.Replace(fourClients, "until: 1s", "rate: 1\nuntil: "+until, 1), "WHAT", onExit)
}

// A run on a cluster is the run that it is on this host, over any number of hosts, in a job of its own or in one that is there. Nothing is left of it, and no
// secret is shown.
func TestSlurm(t *testing.T) {
	s := newStage(t)
	c := s.cluster(4)
	s.file("f.yaml", strings.ReplaceAll(fourClients, "WHAT", "fail"))
	here := s.metasim("run", "f.yaml", "--json").outcome(t)
	for nodes, where := range map[int]string{1: "a b c d", 2: "a b|c d", 4: "a|b|c|d"} {
		out := s.metasim("run", "f.yaml", "--launch", "slurm", "--nodes", fmt.Sprint(nodes), "--json").outcome(t)
		require.Equal(t, here.Digests, out.Digests)
		var there []string
		for _, h := range out.Hosts {
			require.Equal(t, "ended", h.Exit)
			there = append(there, strings.Join(h.Clients, " "))
		}
		require.Equal(t, where, strings.Join(there, "|"))
	}
	c.Empty()
	s.clean()

	inside := func(args ...string) ending { // in a job of two hosts
		cmd := c.On(append([]string{"salloc", "--quiet", "--nodes=2", "--ntasks-per-node=1", testprogram.Shipped(t), "run", "f.yaml", "--json"}, args...)...)
		cmd.Dir = s.dir
		text, _ := cmd.Output() // its status is that of metasim
		return ending{out: string(text)}
	}
	require.Equal(t, here.Digests, inside("--launch", "slurm", "--", "--quiet").outcome(t).Digests)
	require.Regexp(t, `^job \d+ has 2 hosts, and --nodes asks for 3`, inside("--launch", "slurm", "--nodes", "3").outcome(t).Error)
	require.Regexp(t, `^job \d+ has the hosts n\d,n\d, and --hosts names n9`, inside("--launch", "slurm", "--hosts", "n9").outcome(t).Error)
	c.Empty()

	s.file("slow.yaml", paced("fail", "1h"))
	p := s.start([]string{"METASIM_TOKEN=sesame-open"}, "run", "slow.yaml", "--launch", "slurm", "--nodes", "2", "--json", "--out", "slow")
	s.underway(c, p, "slow")
	processes, err := exec.Command("ps", "axww", "-o", "args").Output()
	require.NoError(t, err)
	jobs, err := c.On("scontrol", "--details", "show", "job").Output()
	require.NoError(t, err)
	require.Contains(t, string(processes), "relay")
	require.NotContains(t, string(processes)+string(jobs), "sesame-open")
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status, "it was killed")
	c.Empty()
}

// underway waits until all clients of a run on a cluster take part, and returns the number of its job.
func (s *stage) underway(c *testcluster.Cluster, p *running, dir string) (job string) {
	s.Helper()
	require.Eventually(s, func() bool {
		_, err := os.Stat(filepath.Join(s.dir, dir, "clients", "d.stdout"))
		return err == nil && joined(s.T, filepath.Join(s.dir, dir)) == 4
	}, patience/2, 100*time.Millisecond, "%s", p.err.String())
	return s.job(c)
}

// All hosts are there, or no client starts, and it is said why. What ends the job ends the run, with its number.
func TestSlurmSaysWhy(t *testing.T) {
	s := newStage(t)
	c := s.cluster(2)
	s.file("slow.yaml", paced("fail", "1h"))
	e := s.metasim("run", "slow.yaml", "--launch", "slurm", "--nodes", "3", "--json")
	require.Equal(t, 1, e.status)
	require.Regexp(t, `^job \d+ got no hosts: Partition(Config|NodeLimit); see sinfo`, e.outcome(t).Error)
	require.NoError(t, c.On("scontrol", "update", "nodename=n2", "state=drain", "reason=fan").Run())
	waits := s.start(nil, "run", "slow.yaml", "--launch", "slurm", "--nodes", "2", "--json")
	require.Eventually(t, func() bool { return strings.Contains(waits.err.String(), "waits for its hosts: ") }, patience/2, 20*time.Millisecond)
	require.Regexp(t, `job \d+ waits for its hosts: (Resources|ReqNodeNotAvail|Nodes required)`, waits.err.String())
	require.NoError(t, waits.cmd.Process.Signal(syscall.SIGINT))
	require.Contains(t, waits.wait().outcome(t).Error, "interrupt")
	require.NoError(t, c.On("scontrol", "update", "nodename=n2", "state=resume").Run())
	c.Empty()
	for says, args := range map[string]string{
		"Invalid partition":                 "--launch slurm -- --partition=none",
		"host n1 was lost: ":                "--launch slurm --nodes 2 --remote /no/such/metasim",
		"after -- is for Slurm":             "-- --partition=all",
		"--nodes is how many hosts":         "--nodes 2",
		"--nodes is 1, and --hosts names 2": "--launch slurm --nodes 1 --hosts n1,n2",
	} {
		e := s.metasim(append([]string{"run", "slow.yaml"}, strings.Fields(args)...)...)
		require.NotZero(t, e.status)
		require.Contains(t, e.err, says)
	}
	p := s.start(nil, "run", "slow.yaml", "--launch", "slurm", "--nodes", "2", "--json", "--out", "cancelled")
	job := s.underway(c, p, "cancelled")
	require.NoError(t, c.On("scancel", job).Run())
	require.Contains(t, p.wait().outcome(t).Error, "job "+job+" is CANCELLED")
	c.Empty()
	s.clean()
}

// relayOf finds the process of the relay on host i.
func relayOf(c *testcluster.Cluster, i int) int {
	for pid, line := range c.Processes(i) {
		if strings.HasSuffix(line, " relay") {
			return pid
		}
	}
	return 0
}

// A relay that dies is replaced, and its clients come back through the new one. A host that is lost takes its clients with it, and their on_exit says what
// follows; what goes on there ends by itself.
func TestSlurmFaults(t *testing.T) {
	s := newStage(t)
	s.file("f.yaml", strings.Replace(paced("fail", "8s"), "rate: 1", "rate: 0", 1))
	here := s.metasim("run", "f.yaml", "--json").outcome(t)
	for _, onExit := range []string{"relay", "fail", "detach", "restart"} {
		t.Run(onExit, func(t *testing.T) {
			s := newStage(t)
			c := s.cluster(2)
			s.file("f.yaml", paced(strings.Replace(onExit, "relay", "fail", 1), "8s"))
			p := s.start(nil, "run", "f.yaml", "--launch", "slurm", "--nodes", "2", "--json", "--out", "r")
			s.underway(c, p, "r")
			if onExit == "relay" {
				relay := relayOf(c, 2)
				require.NotZero(t, relay)
				require.NoError(t, syscall.Kill(relay, syscall.SIGKILL))
				out := p.wait().outcome(t)
				require.Equal(t, here.Digests, out.Digests)
				require.Contains(t, p.err.String(), "awaited client=c", "the relay was lost")
				c.Empty()
				return
			}
			require.NotEmpty(t, c.Processes(2))
			c.Lose(2)
			e := p.wait()
			out := e.outcome(t)
			require.Regexp(t, "^host n2 was lost: ", out.Hosts[1].Exit)
			require.Equal(t, "ended", out.Hosts[0].Exit)
			switch onExit {
			case "fail":
				require.Equal(t, 1, e.status)
				require.Regexp(t, `client "[cd]" was lost`, out.Error)
				require.Contains(t, out.Error, "host n2")
			case "detach":
				require.Zero(t, e.status, e.err)
				require.False(t, out.Deterministic)
				require.Equal(t, "detached", out.Clients[2].Exit)
			case "restart":
				require.Zero(t, e.status, e.err)
				require.Equal(t, here.Digests, out.Digests)
				require.Equal(t, 1, out.Clients[2].Restarts)
				require.Equal(t, []string{"a", "b", "c", "d"}, out.Hosts[0].Clients)
			}
			c.Empty()
		})
	}
}

// A sweep on a cluster comes to the table of a sweep on this host, each run once, though workers are killed and a host is lost.
func TestSlurmSweep(t *testing.T) {
	s := newStage(t)
	s.file("s.yaml", strings.Replace(swept, "to: 100", "to: 1000", 1))
	require.Zero(t, s.metasim("sweep", "s.yaml", "--out", "here", "--progress", "none").status)
	c := s.cluster(4)
	p := s.start(nil, "sweep", "s.yaml", "--launch", "slurm", "--workers", "8", "--out", "there", "--json", "--silence", "3s")
	works := func(host int) bool { // a worker there has its temporary directory, so it was given runs
		for pid, line := range c.Processes(host) {
			files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			require.NoError(t, err)
			if strings.HasSuffix(line, " sweep worker") && slices.ContainsFunc(files, func(file string) bool {
				name, err := os.Readlink(file)
				return err == nil && strings.Contains(name, "/metasim-sweep-")
			}) {
				return true
			}
		}
		return false
	}
	require.Eventually(t, func() bool { return works(1) && works(4) && s.lines("there/results.jsonl") > 10 }, patience/2, time.Millisecond)
	killed := 0
	for pid, line := range c.Processes(1) {
		if strings.HasSuffix(line, " sweep worker") && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	c.Lose(4)
	require.Less(t, s.lines("there/results.jsonl"), 1000, "the faults came in time")
	e := p.wait()
	require.Zero(t, e.status, e.err)
	require.Positive(t, killed)
	require.Contains(t, e.err, "the worker on host n1 ended")
	require.Contains(t, e.err, "the worker on host n4 ")
	require.Equal(t, s.digests("here"), s.digests("there"))
	var st sweepOutcome
	s.metasim("sweep", "status", "there", "--json").object(t, &st)
	require.Equal(t, []int{1000, 0, 0}, []int{st.Done, st.Failed, len(st.Poison)})
	c.Empty()
}

// Workers that share a sweep may be the tasks of an array job, as docs/sweep.md says: one is cancelled, one is killed, and the others come to the table of a sweep on this host.
func TestSlurmArray(t *testing.T) {
	s := newStage(t)
	text := strings.Replace(swept, "to: 100", "to: 200", 1)
	s.file("fast.yaml", text)
	s.file("s.yaml", "rate: 0.1\n"+text) // all tasks are to work before the first one has done all
	require.Zero(t, s.metasim("sweep", "fast.yaml", "--out", "here", "--progress", "none").status)
	c := s.cluster(4)
	job := s.sbatch(c, "exec "+testprogram.Shipped(t)+" sweep s.yaml --out there --share -j 1 --silence 3s", "--array=1-4", "--nodes=1", "--exclusive", "--output="+filepath.Join(s.dir, "worker-%a.out"))
	worker := func(host int) int {
		for pid, line := range c.Processes(host) {
			if strings.Contains(line, " sweep s.yaml --out there --share") {
				return pid
			}
		}
		return 0
	}
	done := func() int {
		found, err := filepath.Glob(filepath.Join(s.dir, "there/shared/done/*"))
		require.NoError(t, err)
		return len(found)
	}
	var pids [4]int
	require.Eventually(t, func() bool {
		for i := range pids {
			pids[i] = worker(i + 1)
		}
		return !slices.Contains(pids[:], 0) && done() > 10
	}, slurmPatience, time.Millisecond)
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pids[1]))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(environ), "SLURM_ARRAY_TASK_ID=")
	task, _, _ := strings.Cut(rest, "\x00")
	require.Less(t, done(), 180, "the faults come in time")
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	require.NoError(t, c.On("scancel", job+"_"+task).Run())
	require.Eventually(t, func() bool {
		left, err := c.On("squeue", "--noheader", "--jobs="+job).Output()
		return err == nil && len(strings.TrimSpace(string(left))) == 0
	}, slurmPatience, 100*time.Millisecond)
	require.Equal(t, s.digests("here"), s.digests("there"))
	var st sweepOutcome
	s.metasim("sweep", "status", "there", "--json").object(t, &st)
	require.Equal(t, []int{200, 0, 0}, []int{st.Done, st.Failed, len(st.Poison)})
	c.Empty()
}

// The doctor says of each host of a job whether a run could go there, and what is in the way: here a firewall that lets no UDP through from one of them.
func TestSlurmDoctor(t *testing.T) {
	s := newStage(t)
	c := s.cluster(2)
	see := func(args ...string) (status int, r doctor.Report) {
		cmd := c.On(append([]string{"salloc", "--quiet", "--nodes=2", testprogram.Shipped(t), "doctor", "--launch", "slurm", "--json"}, args...)...)
		var said strings.Builder
		cmd.Stderr = &said
		text, err := cmd.Output()
		if ended := new(exec.ExitError); errors.As(err, &ended) {
			status = ended.ExitCode()
		}
		require.NoError(t, json.Unmarshal(text, &r), said.String())
		require.Len(t, r.Hosts, 2)
		require.Equal(t, []string{"n1", "n2"}, []string{r.Hosts[0].Host, r.Hosts[1].Host})
		return status, r
	}
	reach := func(r doctor.Report, host int) doctor.Check {
		i := slices.IndexFunc(r.Hosts[host-1].Checks, func(c doctor.Check) bool { return c.Name == "reach" })
		require.GreaterOrEqual(t, i, 0, "%+v", r.Hosts[host-1])
		return r.Hosts[host-1].Checks[i]
	}
	_, r := see()
	for host := 1; host <= 2; host++ {
		require.Equal(t, doctor.Good, reach(r, host).State, "%+v", reach(r, host))
	}
	c.Wall(2)
	status, r := see()
	require.Equal(t, 1, status)
	require.Equal(t, doctor.Good, reach(r, 1).State)
	require.Equal(t, doctor.Bad, reach(r, 2).State)
	require.Contains(t, reach(r, 2).Remedy, "use --transport tls")
	_, r = see("--transport", "tls")
	require.Equal(t, doctor.Good, reach(r, 2).State, "%+v", reach(r, 2))
	s.file("f.yaml", strings.ReplaceAll(fourClients, "WHAT", "fail"))
	e := s.metasim("run", "f.yaml", "--launch", "slurm", "--nodes", "2", "--transport", "tls", "--json")
	require.Zero(t, e.status, "the remedy helps: %s", e.err)
	c.Empty()
}

// Every scenario that ships has the digest that it has on this host, over 1, 2 and 4 hosts, placed in three ways, and with a dispatcher for each scenario inside.
// Without -slurm the smallest scenario is tried in all ways, and each other one in one way, over 4 hosts.
func TestSlurmEveryScenario(t *testing.T) {
	s := newStage(t)
	shipped, err := filepath.Glob("../../scenarios/*.metasim.yaml")
	require.NoError(t, err)
	c := s.cluster(4)
	tried := 0
	for i, file := range shipped {
		file, err := filepath.Abs(file)
		require.NoError(t, err)
		here := filepath.Join(s.dir, filepath.Base(file)+".here")
		want := s.metasim("run", file, "--json", "--out", here).outcome(t)
		ways := [][]string{nil, {"--pack", "3"}, {"--placement-from", here}}
		all := *allOnSlurm || strings.HasSuffix(file, "/ping-pong.metasim.yaml")
		for _, nodes := range []string{"1", "2", "4"} {
			for k, way := range ways {
				if all || nodes == "4" && k == i%len(ways) {
					s.onSlurm(want, file, nodes, way...)
					tried++
				}
			}
		}
		if strings.HasSuffix(file, "/cells.metasim.yaml") {
			s.onSlurm(want, file, "4", "--nested")
		}
	}
	require.GreaterOrEqual(t, tried, len(shipped)+8)
	c.Empty()
}

// onSlurm carries a scenario out on hosts of a cluster. It requires the results of the run on this host.
func (s *stage) onSlurm(want run.Outcome, file, nodes string, way ...string) {
	s.Helper()
	args := append([]string{"run", file, "--json", "--launch", "slurm", "--nodes", nodes}, way...)
	out := s.metasim(args...).outcome(s.T)
	require.Equal(s, want.Digests, out.Digests, "%s on %s hosts, %v: %s", file, nodes, way, out.Error)
}
