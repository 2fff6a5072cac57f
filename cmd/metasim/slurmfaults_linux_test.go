package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testcluster"
	"metasim/internal/testprogram"
	"metasim/record/journal"
)

// slurmPatience is how long anything may take on a cluster, on a busy machine: Slurm looks at limits of time every 30 s.
const slurmPatience = 4 * time.Minute

// A gate is a run of four clients that stands still until the test opens it, however long a fault takes to come.
type gate struct {
	*stage
	file string          // the scenario
	want journal.Digests // of a run that nobody stops
}

// gate writes the scenario, with more in it by the pairs of replace, and carries it out here.
func (s *stage) gate(replace ...string) *gate {
	s.Helper()
	s.patience = slurmPatience
	const echo = "{name: b, model: echo, with: {in: A, out: B}}"
	text := strings.ReplaceAll(strings.NewReplacer(replace...).Replace(fourClients), "WHAT", "fail")
	waiter := fmt.Sprintf("{name: b, run: [env, TEST_PROGRAM=waiter, BIN, A, B, '%s', '%s']}", filepath.Join(s.dir, "waits"), filepath.Join(s.dir, "open"))
	text = strings.Replace(text, echo, waiter, 1)
	g := &gate{stage: s, file: s.file("gate.yaml", text)}
	g.open()
	here := s.file("here.yaml", strings.Replace(text, "external: true", "model: sink, with: {channels: [C]}", 1))
	g.want = s.metasim("run", here, "--json").outcome(s).Digests
	g.shut()
	return g
}

// stands waits until the run stands at the gate.
func (g *gate) stands(p *running) {
	g.Helper()
	said := func() string {
		if p == nil {
			return ""
		}
		return p.err.String()
	}
	require.Eventually(g, func() bool {
		_, err := os.Stat(filepath.Join(g.dir, "waits"))
		return err == nil
	}, slurmPatience/2, 20*time.Millisecond, "%s", said())
}

// open lets the run go on.
func (g *gate) open() { require.NoError(g, note(filepath.Join(g.dir, "open"))) }

// shut makes the gate ready for another run.
func (g *gate) shut() {
	for _, file := range []string{"waits", "open"} {
		require.NoError(g, os.RemoveAll(filepath.Join(g.dir, file)))
	}
}

// begin starts the run on two hosts of a cluster, and waits until it stands at the gate. It returns the number of its job.
func (g *gate) begin(c *testcluster.Cluster, out string) (p *running, job string) {
	g.Helper()
	g.shut()
	p = g.start(nil, "run", g.file, "--launch", "slurm", "--nodes", "2", "--json", "--out", out)
	g.stands(p)
	return p, g.job(c)
}

// job is the number of the only job of a cluster.
func (s *stage) job(c *testcluster.Cluster) string {
	s.Helper()
	out, err := c.On("squeue", "--noheader", "--format=%i").Output()
	require.NoError(s, err)
	return strings.TrimSpace(string(out))
}

// stops has a run stopped by a cause, which says what, and has it go on to its end.
func (g *gate) stops(c *testcluster.Cluster, name string, by func(p *running, job string) error, says string) {
	g.Helper()
	dir := strings.ReplaceAll(name, " ", "-")
	p, job := g.begin(c, dir)
	require.NotEmpty(g, c.Processes(1))
	require.NotEmpty(g, c.Processes(2))
	require.NoError(g, by(p, job), name)
	e := p.wait()
	if says == "" {
		require.Equal(g, -1, e.status, "it was killed")
	} else {
		out := e.outcome(g)
		require.Equal(g, 1, e.status, "it was stopped before its end")
		require.Regexp(g, strings.ReplaceAll(says, "N", job), out.Error)
		require.True(g, out.Resumable, out.Error)
	}
	c.Empty()
	g.open()
	e = g.metasim("resume", dir, "--json")
	require.Zero(g, e.status, e.err)
	out := e.outcome(g)
	require.Equal(g, g.want, out.Digests, name)
	require.False(g, out.Resumable)
	require.Zero(g, g.metasim("replay", dir).status)
	c.Empty()
	g.clean()
}

// A run is stopped: by a signal, by the end of its job, by the death of metasim. It says which host or job, nothing is left on any host, and metasim resume
// goes on with it in a new job, to the digests of a run that nobody stopped.
func TestSlurmStops(t *testing.T) {
	s := newStage(t)
	c := s.cluster(2)
	g := s.gate()
	g.stops(c, "ctrl-c", func(p *running, _ string) error { return p.cmd.Process.Signal(syscall.SIGINT) }, "^stopped by signal: interrupt; it ran in job N of Slurm")
	g.stops(c, "sigterm", func(p *running, _ string) error { return p.cmd.Process.Signal(syscall.SIGTERM) }, "^stopped by signal: terminated; it ran in job N of Slurm")
	g.stops(c, "warned", func(_ *running, job string) error { return c.On("scancel", "--signal=USR1", job).Run() }, "^stopped by signal: SIGUSR1 on host n[12], .*; it ran in job N of Slurm")
	g.stops(c, "warned itself", func(p *running, _ string) error { return p.cmd.Process.Signal(syscall.SIGUSR1) }, "^stopped by signal: user defined signal 1; it ran in job N of Slurm")
	g.stops(c, "metasim is killed", func(p *running, _ string) error { return p.cmd.Process.Kill() }, "")
	g.stops(c, "preempted", func(*running, string) error {
		return c.On("srun", "--partition=urgent", "--nodes=2", "--exclusive", "true").Run()
	}, `^job N is PREEMPTED: the hosts of the run were taken away(; first, (client|host) |$)`)
}

// A supervisor that is killed, as where memory is short, takes nothing with it: the run goes on. At its end nothing is left, also where Slurm does not end a
// step as a whole.
func TestSlurmSupervisorIsKilled(t *testing.T) {
	s := newStage(t)
	c := s.cluster(2)
	g := s.gate("model: echo, with: {in: B, out: C}", `run: [sh, -c, 'setsid sleep 4243 & exec "$0" client echo --with in=B --with out=C', `+testprogram.Shipped(t)+"]")
	p, _ := g.begin(c, "r")
	killed := false
	for pid, line := range c.Processes(2) {
		if strings.HasSuffix(line, " supervise") {
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	require.True(t, killed)
	g.open()
	e := p.wait()
	require.Zero(t, e.status, e.err)
	out := e.outcome(t)
	require.Equal(t, g.want, out.Digests)
	require.Equal(t, "ended", out.Hosts[0].Exit)
	require.Contains(t, out.Hosts[1].Exit, "host n2 was lost")
	require.Contains(t, e.err, "what the run had left there was ended")
	c.Empty()
	s.clean()
}

// The time of the job is over. Slurm looks every 30 s.
func TestSlurmTimeLimit(t *testing.T) {
	s := newStage(t)
	c := s.cluster(2)
	s.gate().stops(c, "time limit", func(_ *running, job string) error {
		return c.On("scontrol", "update", "jobid="+job, "endtime=now+2").Run() // now may be over when it arrives, and is refused then
	}, `^job N is TIMEOUT \(TimeLimit\): the hosts of the run were taken away(; first, (client|host) |$)`)
}

// A client that is ended by a signal to all of the job is named, with its host and the job.
func TestSlurmSignal(t *testing.T) {
	s := newStage(t)
	c := s.cluster(2)
	p, job := s.gate().begin(c, "r")
	require.NoError(t, c.On("scancel", "--signal=TERM", job).Run())
	e := p.wait()
	require.Equal(t, 1, e.status)
	require.Regexp(t, `client "[abcd]" was lost \(on host n[12]: `, e.outcome(t).Error)
	require.Contains(t, e.outcome(t).Error, "it ran in job "+job+" of Slurm")
	c.Empty()
}

// sbatch starts a script as a job of the cluster, and returns its number.
func (s *stage) sbatch(c *testcluster.Cluster, script string, options ...string) (job string) {
	s.Helper()
	file := s.file("job.sh", "#!/bin/sh\n"+script+"\n")
	cmd := c.On(append(append([]string{"sbatch", "--parsable", "--output=" + filepath.Join(s.dir, "job.out"), "--open-mode=append"}, options...), filepath.Join(s.dir, file))...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	require.NoError(s, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// hostOf finds the host on which a process of a job runs that has such a command line.
func hostOf(c *testcluster.Cluster, hosts int, command string) (host, pid int) {
	for host := range hosts {
		for pid, line := range c.Processes(host + 1) {
			if strings.Contains(line, command) && !strings.Contains(line, "job.sh") {
				return host + 1, pid
			}
		}
	}
	return 0, 0
}

// A job is put back into the queue, as it is preempted or the host of metasim is lost, whose processes go on there. The job begins again, and the run goes on:
// its old copy is kept out by the lock of the journal until it has ended.
func TestSlurmRequeue(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"requeued", "preempted", "host lost"} {
		t.Run(cause, func(t *testing.T) {
			s := newStage(t)
			g := s.gate()
			c := s.cluster(3)
			out := filepath.Join(s.dir, "out.json")
			job := s.sbatch(c, fmt.Sprintf("exec %s run %s --launch slurm --json --out r -v >'%s'", testprogram.Shipped(t), g.file, out), "--requeue", "--nodes=2", "--ntasks-per-node=1")
			g.stands(nil)
			host, old := hostOf(c, 3, "run "+g.file)
			require.NotZero(t, old)
			switch cause {
			case "requeued":
				require.NoError(t, c.On("scontrol", "requeue", job).Run())
			case "preempted":
				require.NoError(t, c.On("srun", "--partition=urgent", "--nodes=3", "--exclusive", "true").Run())
			default:
				c.Lose(host)
				require.NoError(t, c.On("scontrol", "update", "nodename="+testcluster.Host(host), "state=down", "reason=lost").Run()) // Slurm sees it itself, half a minute later
			}
			opened := false
			require.Eventually(t, func() bool {
				text, err := c.On("scontrol", "--oneliner", "show", "job", job).Output()
				state := regexp.MustCompile(`JobState=(\w+) .* Restarts=1 `).FindStringSubmatch(string(text))
				switch {
				case err != nil || state == nil:
					return false
				case state[1] == "PENDING": // until the credentials of its steps before have expired, for two minutes
					_ = c.On("scontrol", "update", "jobid="+job, "starttime=now").Run() // it may begin just now
				case state[1] == "RUNNING" && !opened:
					opened = true
					g.open()
				}
				return opened && (state[1] == "COMPLETED" || state[1] == "FAILED")
			}, slurmPatience, 100*time.Millisecond)
			text, err := os.ReadFile(out)
			require.NoError(t, err)
			said := string(s.read("job.out"))
			e := ending{out: string(text)}
			require.Equal(t, g.want, e.outcome(t).Digests, "%s", said)
			require.Zero(t, s.metasim("replay", "r").status)
			c.Empty()
		})
	}
}

// What is left of an earlier life of a run, on a host that nobody could reach, is not let in when it can be reached again.
func TestSlurmOldCopy(t *testing.T) {
	s := newStage(t)
	g := s.gate("links:", "  - {name: e, external: true}\nlinks:", "peer_timeout: 3s", "peer_timeout: 2m")
	c := s.cluster(3)
	p := s.start(nil, "run", g.file, "--launch", "slurm", "--nodes", "2", "--json", "--out", "r", "--ready-file", "ready", "--durable") // e joined a moment before the kill
	url := p.readyURL(filepath.Join(s.dir, "ready"))
	tokens := string(s.read("r/tokens"))
	stranger := s.start([]string{"METASIM_SERVER=" + url, "METASIM_CLIENT=e", "METASIM_TOKEN=" + strings.Fields(tokens)[1]}, "client", "sink", "--with", "channels=[C]")
	g.stands(p)
	old := relayOf(c, 2)
	require.NotZero(t, old)
	c.Lose(2)
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status)
	resumed := s.start(nil, "resume", "r", "--json", "-v")
	require.Eventually(t, func() bool { return relayOf(c, 3) != 0 }, slurmPatience/2, 20*time.Millisecond, "%s", resumed.err.String())
	require.Equal(t, old, relayOf(c, 2), "the old copy goes on") // it ends soon after its network is back
	c.Reconnect(2)
	g.open()
	e := resumed.wait()
	require.Zero(t, e.status, e.err)
	require.Equal(t, g.want, e.outcome(t).Digests)
	require.Zero(t, stranger.wait().status, "it came back")
	require.Contains(t, e.err, "came back\" client=e")
	require.NotContains(t, e.err, "came back\" client=c")
	for pid := range c.Processes(2) { // the old copy would end by itself after peer_timeout: TestSlurmFaults waits for that
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	c.Empty()
}
