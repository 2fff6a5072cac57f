// Package testcluster gives a test a cluster: Slurm, on hosts that are network namespaces of this one. They have names, addresses and a network of their own,
// which nothing outside sees, so that tests with clusters can run beside one another. Files and processes are those of this host.
//
// Only tests import it.
package testcluster

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
)

// CPUs is how many processors each host has, as Slurm sees it.
const CPUs = 2

// A Cluster is one that goes on until its test is over.
type Cluster struct {
	t     testing.TB
	dir   string
	head  int   // the process that keeps the namespaces of the host from which jobs are started
	nodes []int // and those of the other hosts
	slurm []*exec.Cmd
	ended []chan struct{} // of slurm
}

// programs are what a cluster is made of, with the package of each in Debian.
var programs = [][2]string{
	{"slurmctld", "slurmctld"}, {"slurmd", "slurmd"}, {"srun", "slurm-client"}, {"munged", "munge"}, {"ip", "iproute2"}, {"nsenter", "util-linux"}, {"unshare", "util-linux"},
}

// Start starts a cluster with hosts n1, n2 and so on, and waits until jobs can run on all of them. It skips the test where that cannot be had.
func Start(t testing.TB, hosts int) *Cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED LOUDLY: this user is not root, so no cluster is started")
	}
	for _, p := range programs {
		if _, err := lookPath(p[0]); err != nil {
			t.Skipf("SKIPPED LOUDLY: there is no %s, so no cluster is started; on Debian: apt-get install %s", p[0], p[1])
		}
	}
	if out, err := exec.Command("unshare", "--net", "--uts", "ip", "link", "add", "br0", "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED LOUDLY: this system gives no network namespace with a bridge, so no cluster is started: %v: %s", err, out)
	}
	c := &Cluster{t: t, dir: shortdir.Make(t)}
	c.head = c.namespaces("head", "ip link add br0 type bridge && ip link set br0 up && ip addr add "+address(254)+"/24 dev br0")
	for i := 1; i <= hosts; i++ {
		pid := c.namespaces(Host(i), "")
		c.nodes = append(c.nodes, pid)
		c.must(c.on(c.head, "sh", "-c", fmt.Sprintf("ip link add v%[1]d type veth peer name eth0 netns %[2]d && ip link set v%[1]d master br0 up", i, pid)))
		c.must(c.on(pid, "sh", "-c", "ip addr add "+address(i)+"/24 dev eth0 && ip link set eth0 up"))
	}
	c.configure(hosts)
	c.daemon(c.head, "munged", "--foreground", "--force", "--key-file="+c.file("munge.key"), "--socket="+c.file("munge"), "--pid-file="+c.file("munged.pid"), "--log-file="+c.file("munged.log"), "--seed-file="+c.file("munge.seed"))
	c.daemon(c.head, "slurmctld", "-D", "-i", "-f", c.file("slurm.conf"))
	for i := range hosts {
		c.daemon(c.nodes[i], "slurmd", "-D", "-N", Host(i+1), "-f", c.file("slurm.conf"))
	}
	require.Eventually(t, func() bool {
		out, _ := c.On("sinfo", "--noheader", "--format=%T %D").Output() // before it answers there is an error
		return string(out) == fmt.Sprintf("idle %d\n", hosts)
	}, time.Minute, 50*time.Millisecond, "the cluster does not begin: %s", c.logs())
	return c
}

// Host is the name of host i, from 1.
func Host(i int) string { return fmt.Sprintf("n%d", i) }

func address(i int) string { return fmt.Sprintf("10.77.0.%d", i) }

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

// configure writes what Slurm reads.
func (c *Cluster) configure(hosts int) {
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // it never fails
	require.NoError(c.t, os.WriteFile(c.file("munge.key"), key, 0o600))
	require.NoError(c.t, os.Mkdir(c.file("state"), 0o700))
	require.NoError(c.t, os.WriteFile(c.file("slurm.conf"), []byte(fmt.Sprintf(`ClusterName=test
SlurmctldHost=head(%[2]s)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge
CredType=cred/munge
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool.%%n
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.%%n.pid
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=50000
ReturnToService=2
SlurmdTimeout=10
KillWait=2
InactiveLimit=0
MpiDefault=none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
NodeName=n[1-%[3]d] NodeAddr=10.77.0.[1-%[3]d] CPUs=%[4]d State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2
`, c.dir, address(254), hosts, CPUs)), 0o600))
}

// namespaces makes the namespaces of a host, and returns the process that keeps them.
func (c *Cluster) namespaces(name, setup string) (pid int) {
	ready := c.file(name + ".ready")
	cmd := exec.Command("unshare", "--net", "--uts", "sh", "-c", "hostname "+name+" && ip link set lo up && "+orTrue(setup)+" && : >"+ready+" && exec sleep infinity")
	said := &strings.Builder{}
	cmd.Stderr = said
	require.NoError(c.t, cmd.Start())
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it goes on
		_ = cmd.Wait()         // it was killed
	})
	require.Eventually(c.t, func() bool {
		_, err := os.Stat(ready)
		return err == nil
	}, time.Minute, 5*time.Millisecond, "host %s has no namespaces: %s", name, said)
	return cmd.Process.Pid
}

func orTrue(command string) string {
	if command == "" {
		return "true"
	}
	return command
}

// lookPath finds a program, also one of those that only root has in the PATH.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return exec.LookPath("/usr/sbin/" + name)
	}
	return path, nil
}

// on is a command in the namespaces that a process keeps.
func (c *Cluster) on(pid int, argv ...string) *exec.Cmd {
	if path, err := lookPath(argv[0]); err == nil {
		argv[0] = path
	}
	cmd := exec.Command("nsenter", append([]string{fmt.Sprintf("--net=/proc/%d/ns/net", pid), fmt.Sprintf("--uts=/proc/%d/ns/uts", pid)}, argv...)...)
	cmd.Env = append(os.Environ(), c.Env())
	return cmd
}

// On is a command on the host from which jobs are started.
func (c *Cluster) On(argv ...string) *exec.Cmd { return c.on(c.head, argv...) }

// Env is what programs need in their environment to find the cluster.
func (c *Cluster) Env() string { return "SLURM_CONF=" + c.file("slurm.conf") }

// Script writes a program that runs another one on the host from which jobs are started, and returns its path.
func (c *Cluster) Script(program string) string {
	path := c.file(filepath.Base(program) + ".on-head")
	text := fmt.Sprintf("#!/bin/sh\nexport %s\nexec nsenter --net=/proc/%d/ns/net --uts=/proc/%[2]d/ns/uts %s \"$@\"\n", c.Env(), c.head, program)
	require.NoError(c.t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

func (c *Cluster) must(cmd *exec.Cmd) {
	c.t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(c.t, err, "%s: %s", cmd, out)
}

// daemon starts a part of Slurm, which ends with the test.
func (c *Cluster) daemon(pid int, argv ...string) {
	cmd := c.on(pid, argv...)
	log, err := os.Create(c.file(fmt.Sprintf("%s-%d.said", argv[0][strings.LastIndexByte(argv[0], '/')+1:], pid)))
	require.NoError(c.t, err)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(c.t, cmd.Start())
	ended := make(chan struct{})
	c.slurm, c.ended = append(c.slurm, cmd), append(c.ended, ended)
	go func() {
		_ = cmd.Wait() // it is killed at the end
		_ = log.Close()
		close(ended)
	}()
	c.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-ended
	})
}

// logs is the end of what the parts of Slurm have said.
func (c *Cluster) logs() string {
	var all strings.Builder
	files, _ := filepath.Glob(c.file("*.log")) // the pattern is good
	said, _ := filepath.Glob(c.file("*.said")) // likewise
	for _, file := range append(files, said...) {
		text, _ := os.ReadFile(file) // what cannot be read is left out
		fmt.Fprintf(&all, "\n%s:\n%s", filepath.Base(file), text[max(0, len(text)-2000):])
	}
	return all.String()
}

// Lose has host i, from 1, lose its slurmd and its network. What else runs there goes on.
func (c *Cluster) Lose(i int) {
	c.t.Helper()
	daemon := len(c.slurm) - len(c.nodes) + i - 1
	require.NoError(c.t, c.slurm[daemon].Process.Kill())
	<-c.ended[daemon]
	c.must(c.on(c.nodes[i-1], "ip", "link", "set", "eth0", "down"))
}

// Wall has the network of host i, from 1, drop what goes from there over UDP, as a firewall may. Slurm talks over TCP.
func (c *Cluster) Wall(i int) {
	c.t.Helper()
	c.must(c.on(c.nodes[i-1], "ip", "rule", "add", "pref", "1", "ipproto", "udp", "blackhole"))
}

// Reconnect gives host i, which was lost, its network back. Slurm does not run there any more.
func (c *Cluster) Reconnect(i int) {
	c.t.Helper()
	c.must(c.on(c.nodes[i-1], "ip", "link", "set", "eth0", "up"))
}

// Processes lists what runs on host i, from 1, beside Slurm: the number and the command line of each process. Host 0 is the one from which jobs are started.
func (c *Cluster) Processes(i int) (found map[int]string) {
	holder := c.head
	if i > 0 {
		holder = c.nodes[i-1]
	}
	want, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", holder))
	require.NoError(c.t, err)
	found = map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))            // a number
		at, _ := os.Readlink(filepath.Join(dir, "ns", "net")) // a process that has ended has none
		b, _ := os.ReadFile(filepath.Join(dir, "cmdline"))    // likewise
		line := strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
		program := filepath.Base(strings.SplitN(line, " ", 2)[0])
		if at != want || line == "" || pid == holder || strings.HasPrefix(program, "slurm") || program == "munged" {
			continue
		}
		found[pid] = line
	}
	return found
}

// Empty fails unless nothing runs on any host, and no job is left, or soon is not. Hosts that were lost are asked too, and the one from which jobs are started.
func (c *Cluster) Empty() {
	c.t.Helper()
	left := ""
	if assert.Eventually(c.t, func() bool {
		left = ""
		for i := range len(c.nodes) + 1 {
			for pid, line := range c.Processes(i) {
				left += fmt.Sprintf("\n%s: %d %s", Host(i), pid, line)
			}
		}
		jobs, _ := c.On("squeue", "--noheader", "--states=PENDING,RUNNING,SUSPENDED").Output() // an empty list is what is wanted
		left += string(jobs)
		return left == ""
	}, 3*time.Minute, 50*time.Millisecond) {
		return
	}
	require.Empty(c.t, left, "something is left")
}
