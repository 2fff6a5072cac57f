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
)

// A run is stopped: by a signal, by the end of its job, by the death of metasim. It says which host or job, nothing is left on any host, and metasim resume
// goes on with it in a new job, to the digests of a run that nobody stopped. All causes with -slurm.
func TestSlurmStops(t *testing.T) {
	s := newStage(t)
	const until = "2s"
	s.file("p.yaml", paced("fail", until))
	here := s.metasim("run", "p.yaml", "--set", "rate=0", "--json").outcome(t)
	c := s.cluster(2)
	for _, cause := range []struct {
		name  string
		often bool // also without -slurm
		by    func(p *running, job string) error
		says  string
	}{
		{"ctrl-c", false, func(p *running, _ string) error { return p.cmd.Process.Signal(syscall.SIGINT) }, "^stopped by signal: interrupt; it ran in job N of Slurm"},
		{"sigterm", true, func(p *running, _ string) error { return p.cmd.Process.Signal(syscall.SIGTERM) }, "^stopped by signal: terminated; it ran in job N of Slurm"},
		{"preempted", true, func(*running, string) error {
			return c.On("srun", "--partition=urgent", "--nodes=2", "--exclusive", "true").Run()
		}, "job N is PREEMPTED"},
		{"time limit", false, func(_ *running, job string) error {
			return c.On("scontrol", "update", "jobid="+job, "endtime=now").Run()
		}, `job N is TIMEOUT \(TimeLimit\)`},
		{"metasim is killed", false, func(p *running, _ string) error { return p.cmd.Process.Kill() }, ""},
	} {
		if !cause.often && !*allOnSlurm {
			continue
		}
		dir, file, want := strings.ReplaceAll(cause.name, " ", "-"), "p.yaml", here
		if cause.name == "time limit" { // Slurm looks every 30 s
			file = s.file("long.yaml", paced("fail", "1m"))
			want = s.metasim("run", file, "--set", "rate=0", "--json").outcome(t)
		}
		p := s.start(nil, "run", file, "--launch", "slurm", "--nodes", "2", "--json", "--out", dir)
		job := s.underway(c, p, dir)
		require.NotEmpty(t, c.Processes(1))
		require.NotEmpty(t, c.Processes(2))
		require.NoError(t, cause.by(p, job), cause.name)
		e := p.wait()
		if cause.says == "" {
			require.Equal(t, -1, e.status, "it was killed")
		} else {
			out := e.outcome(t)
			require.Equal(t, 1, e.status, "it was stopped before its end")
			require.Regexp(t, strings.ReplaceAll(cause.says, "N", job), out.Error)
			require.True(t, out.Resumable)
		}
		c.Empty()
		e = s.metasim("resume", dir, "--json")
		require.Zero(t, e.status, e.err)
		out := e.outcome(t)
		require.Equal(t, want.Digests, out.Digests, cause.name)
		require.False(t, out.Resumable)
		require.Zero(t, s.metasim("replay", dir).status)
		c.Empty()
	}
	s.clean()
}

// A client that is ended by a signal to all of the job is named, with its host and the job.
func TestSlurmSignal(t *testing.T) {
	if !*allOnSlurm {
		t.Skip("SKIPPED LOUDLY: a client that Slurm signals; say -slurm")
	}
	s := newStage(t)
	c := s.cluster(2)
	s.file("p.yaml", paced("fail", "1h"))
	p := s.start(nil, "run", "p.yaml", "--launch", "slurm", "--nodes", "2", "--json", "--out", "r")
	job := s.underway(c, p, "r")
	require.NoError(t, c.On("scancel", "--verbose", "--signal=TERM", job).Run())
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
	if !*allOnSlurm {
		t.Skip("SKIPPED LOUDLY: a job that is put back into the queue takes a minute; say -slurm")
	}
	for _, cause := range []string{"requeued", "preempted", "host lost"} {
		t.Run(cause, func(t *testing.T) {
			s := newStage(t)
			s.file("f.yaml", strings.Replace(paced("fail", "20s"), "rate: 1", "rate: 0", 1))
			s.file("p.yaml", paced("fail", "20s"))
			here := s.metasim("run", "f.yaml", "--json").outcome(t)
			c := s.cluster(3)
			out := filepath.Join(s.dir, "out.json")
			job := s.sbatch(c, fmt.Sprintf("exec %s run p.yaml --launch slurm --json --out r -v >'%s'", testprogram.Shipped(t), out), "--requeue", "--nodes=2", "--ntasks-per-node=1")
			require.Eventually(t, func() bool {
				_, err := os.Stat(filepath.Join(s.dir, "r", "clients", "d.stdout"))
				return err == nil && joined(t, filepath.Join(s.dir, "r")) == 4
			}, patience/2, 100*time.Millisecond)
			host, old := hostOf(c, 3, "run p.yaml")
			require.NotZero(t, old)
			switch cause {
			case "requeued":
				require.NoError(t, c.On("scontrol", "requeue", job).Run())
			case "preempted":
				require.NoError(t, c.On("srun", "--partition=urgent", "--nodes=3", "--exclusive", "true").Run())
			default:
				c.Lose(host)
			}
			require.Eventually(t, func() bool {
				state, err := c.On("scontrol", "--oneliner", "show", "job", job).Output()
				return err == nil && regexp.MustCompile(`JobState=(COMPLETED|FAILED) .* Restarts=1 `).Match(state)
			}, 4*patience, 200*time.Millisecond)
			text, err := os.ReadFile(out)
			require.NoError(t, err)
			said, err := os.ReadFile(filepath.Join(s.dir, "job.out"))
			require.NoError(t, err)
			t.Logf("%s", said)
			e := ending{out: string(text)}
			require.Equal(t, here.Digests, e.outcome(t).Digests, "%s", said)
			require.Zero(t, s.metasim("replay", "r").status)
			c.Empty()
		})
	}
}

// What is left of an earlier life of a run, on a host that nobody could reach, is not let in when it can be reached again.
func TestSlurmOldCopy(t *testing.T) {
	if !*allOnSlurm {
		t.Skip("SKIPPED LOUDLY: an old copy of a run takes half a minute; say -slurm")
	}
	s := newStage(t)
	const outside = "  - {name: e, external: true}\n"
	text := strings.Replace(strings.Replace(paced("fail", "20s"), "links:", outside+"links:", 1), "peer_timeout: 3s", "peer_timeout: 1m", 1)
	s.file("p.yaml", text)
	s.file("f.yaml", strings.Replace(text, outside, "  - {name: e, model: sink, with: {channels: [C]}}\n", 1))
	here := s.metasim("run", "f.yaml", "--json", "--set", "rate=0").outcome(t)
	c := s.cluster(3)
	p := s.start(nil, "run", "p.yaml", "--launch", "slurm", "--nodes", "2", "--json", "--out", "r", "--ready-file", "ready")
	url := p.readyURL(filepath.Join(s.dir, "ready"))
	join := func(url string) *running {
		tokens := string(s.read("r/tokens"))
		return s.start([]string{"METASIM_SERVER=" + url, "METASIM_CLIENT=e", "METASIM_TOKEN=" + strings.Fields(tokens)[1]}, "client", "sink", "--with", "channels=[C]")
	}
	stranger := join(url)
	require.Eventually(t, func() bool { return joined(t, filepath.Join(s.dir, "r")) == 5 }, patience/2, 50*time.Millisecond)
	old := relayOf(c, 2)
	require.NotZero(t, old)
	c.Lose(2)
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status)
	resumed := s.start(nil, "resume", "r", "--json", "-v")
	require.Eventually(t, func() bool { return relayOf(c, 3) != 0 }, patience/2, 20*time.Millisecond)
	c.Reconnect(2)
	require.Equal(t, old, relayOf(c, 2), "the old copy goes on")
	e := resumed.wait()
	require.Zero(t, e.status, e.err)
	require.Equal(t, here.Digests, e.outcome(t).Digests)
	require.Zero(t, stranger.wait().status, "it came back")
	require.Contains(t, e.err, "came back\" client=e")
	require.NotContains(t, e.err, "came back\" client=c")
	c.Empty()
}
