//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
	"metasim/internal/testprogram"
	"metasim/run"
	"metasim/run/doctor"
)

// hosts puts a script before the ssh of the system that starts the command on this host: all hosts are this one, but for "gone", which cannot be
// reached, "old", which has an older metasim, and "talks", whose shell greets. The script leaves its process number in the file of the host's name. Who kills
// its group ends the connection, and not what it has started on the host.
func (s *stage) hosts() (path string) {
	s.Helper()
	bin := filepath.Join(s.dir, "bin")
	require.NoError(s, os.MkdirAll(bin, 0o755))
	require.NoError(s, os.WriteFile(filepath.Join(bin, "ssh"), []byte(`#!/bin/sh
for last; do host=$command; command=$last; done
echo $$ >"`+s.dir+`/ssh.$host"
case $host in
gone) echo "ssh: connect to host gone port 22: No route to host" >&2; exit 255 ;;
old) echo '{"kind":"ready","text":"0.0.1"}'; cat >/dev/null; exit 0 ;;
talks) echo 'Welcome to talks!' ;;
esac
export METASIM_TEST_HOST=$host
cat | setsid sh -c "$command" | cat
`), 0o755))
	return "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
}

const twoPairs = `name: pairs
until: 1s
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, model: echo, with: {in: A, out: B}}
  - {name: c, run: [sh, -c, "echo this is $METASIM_TEST_HOST; exec \"$0\" client echo --with in=B --with out=C", BIN]}
  - {name: d, model: sink, with: {channels: [C]}}
links: [{delay: 1ms}]
`

// A run over other hosts is the run that it is on this one. The outcome says which client was where, and what they wrote is in the directory of the run.
func TestHosts(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", strings.ReplaceAll(twoPairs, "BIN", s.program))
	path := s.hosts()
	here, e := s.run("p.yaml", "--out", "here", "--keep-env")
	require.Equal(t, 0, e.status, e.err)
	var atHome run.Outcome
	e.object(t, &atHome)
	this, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, []run.HostOutcome{{Name: this, Clients: []string{"a", "b", "c", "d"}, Exit: "ended"}}, atHome.Hosts)
	for _, transport := range []string{"quic", "tls"} {
		e := s.start([]string{path}, "run", "p.yaml", "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--transport", transport, "--listen", "127.0.0.1:0", "--json", "--out", transport).wait()
		require.Equal(t, 0, e.status, e.err)
		var there run.Outcome
		e.object(t, &there)
		require.Equal(t, here.Digest, there.Digest)
		require.Equal(t, here.SendsDigest, there.SendsDigest)
		require.Equal(t, []run.HostOutcome{{Name: "n1", Clients: []string{"a", "b"}, Exit: "ended"}, {Name: "n2", Clients: []string{"c", "d"}, Exit: "ended"}}, there.Hosts)
		require.Equal(t, "c on n2 | this is n2\n", s.metasim("logs", transport, "c").out)
		require.JSONEq(t, `{"client": "c", "host": "n2", "stream": "stdout", "line": "this is n2"}`, s.metasim("logs", transport, "c", "--json").out)
	}
}

// A scenario inside with a dispatcher of its own is on one host with all its clients: where placement says. The run is the one that it is here.
func TestNestedOnHosts(t *testing.T) {
	s := raced(t)
	s.file("pair.yaml", strings.ReplaceAll(`name: pair
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, run: [sh, -c, "echo this is $METASIM_TEST_HOST; exec \"$0\" client echo --with in=A --with out=OUT", BIN]}
links: [{delay: 1ms}]
`, "BIN", s.program))
	s.file("p.yaml", `name: pairs
until: 1s
hosts: [front, back]
placement: {front: [ear, two], back: [one]}
clients:
  - {name: one, model: scenario, with: {file: pair.yaml, expose: [{OUT: X}]}}
  - {name: two, model: scenario, with: {file: pair.yaml, expose: [{OUT: Y}]}}
  - {name: ear, model: sink, with: {channels: [X, Y]}}
links: [{delay: 1ms}]
`)
	path := s.hosts()
	here, e := s.run("p.yaml", "--out", "here", "--keep-env")
	require.Equal(t, 0, e.status, e.err)
	near := s.metasim("run", "p.yaml", "--nested", "--out", "near", "--json").outcome(t)
	require.Equal(t, []string{"one/a", "one/b", "two/a", "two/b", "ear"}, near.Hosts[0].Clients)
	e = s.start([]string{path}, "run", "p.yaml", "--nested", "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--listen", "127.0.0.1:0", "--json", "--out", "there").wait()
	require.Equal(t, 0, e.status, e.err)
	var there run.Outcome
	e.object(t, &there)
	require.Equal(t, []string{here.Digest, here.SendsDigest, here.ResultsDigest}, []string{there.Digest, there.SendsDigest, there.ResultsDigest})
	require.Equal(t, []run.HostOutcome{{Name: "n1", Clients: []string{"ear", "two/a", "two/b"}, Exit: "ended"}, {Name: "n2", Clients: []string{"one/a", "one/b"}, Exit: "ended"}}, there.Hosts)
	var r report.Report
	require.NoError(t, json.Unmarshal([]byte(s.metasim("report", "there", "--json").out), &r))
	require.Equal(t, [][]string{{"ear", "two", "two/a", "two/b"}, {"one", "one/a", "one/b"}}, [][]string{r.Hosts[0].Clients, r.Hosts[1].Clients})
	for _, c := range r.Clients {
		require.NotEmpty(t, c.Host, c.Name)
	}
	require.Equal(t, "one/b | this is n2\n", s.metasim("logs", filepath.Join("there", "nested-one"), "one/b").out)

	s.file("torn.yaml", strings.Replace(string(s.read("p.yaml")), "front: [ear, two], back: [one]", "front: [one/a], back: [one/b]", 1))
	e = s.start([]string{path}, "run", "torn.yaml", "--nested", "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--listen", "127.0.0.1:0").wait()
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, `placement puts clients of the scenario inside "one" on hosts front and back, and with --nested it is on one; put "one" on one host, or leave --nested out`)
}

// A report says which host waited for which, and the error of a run names the host of the client that it is about.
func TestHostsAreReported(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", strings.ReplaceAll(twoPairs, "BIN", s.program))
	path := s.hosts()
	far := func(file, out string) ending {
		return s.start([]string{path}, "run", file, "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--listen", "127.0.0.1:0", "--json", "--out", out).wait()
	}
	require.Zero(t, far("p.yaml", "r").status)
	var r report.Report
	s.metasim("report", "r", "--json").object(t, &r)
	require.Len(t, r.Hosts, 2)
	require.Equal(t, []string{"a", "b"}, r.Hosts[0].Clients)
	require.Positive(t, r.Hosts[1].RoundTripS)
	require.Contains(t, r.HostBlame, report.HostBlameReport{
		Waiting: "n2", HeldBy: "n1", BlockedS: r.Hosts[0].HeldAwayS, RoundTripS: r.Hosts[0].RoundTripS + r.Hosts[1].RoundTripS,
	})
	require.Equal(t, "n2", r.Clients[2].Host)
	e := s.metasim("report", "r", "--html", "page.html")
	require.Regexp(t, `(?m)^Which host waited for which\n.*\n(n1 .*\n)?n2 +n1 `, e.out)
	require.Contains(t, string(s.read("page.html")), `"host_blame":[{"waiting":"n`)

	s.file("absent.yaml", `name: absent
start_timeout: 2s
until: 1s
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, run: [sleep, "60"]}
`)
	e = far("absent.yaml", "absent")
	require.Equal(t, 1, e.status)
	require.Regexp(t, `b has not joined after 2s; .*; client "b" is on host n2$`, e.outcome(t).Error)
}

// Who waits for whom is said with the hosts of both, and how long a message takes there and back.
func TestHostsHoldOneAnother(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", strings.Replace(strings.ReplaceAll(`name: pairs
until: 1h
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, run: [sh, -c, "printf %s $$ >b.pid; exec \"$0\" client echo --with in=A --with out=B", BIN]}
  - {name: c, model: echo, with: {in: B, out: C}}
  - {name: d, model: sink, with: {channels: [C]}}
links: [{delay: 1ms}]
`, "BIN", s.program), "until: 1h", "until: 10h", 1))
	path := s.hosts()
	p := s.start([]string{path}, "run", "p.yaml", "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--listen", "127.0.0.1:0", "--json", "--out", "r")
	pid := p.appears(filepath.Join(s.dir, "b.pid"))
	require.Eventually(t, func() bool { return joined(t, filepath.Join(s.dir, "r")) == 4 }, patience/2, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }() // it is killed before, mostly
	const away = `host n%d, [0-9.]+ m?s there and back`
	want := regexp.MustCompile(`^c at .* waits for b: .* \(from ` + fmt.Sprintf(away, 1) + ` to ` + fmt.Sprintf(away, 2) + `\); b at .* on ` + fmt.Sprintf(away, 1) + `, connected by quic`)
	said := ""
	if !assert.Eventually(t, func() bool {
		said = s.metasim("why", "c", "--run", "r").out
		return want.MatchString(said)
	}, patience/2, 100*time.Millisecond) {
		require.Regexp(t, want, said)
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 1, p.wait().status)
	s.clean()
}

// A client of a nested run is on the host of that run, for who waits for it too.
func TestNestedOnHostsHold(t *testing.T) {
	s := newStage(t)
	s.file("pair.yaml", strings.ReplaceAll(`name: pair
clients:
  - {name: a, run: [sh, -c, "printf %s $$ >a.pid; exec \"$0\" client source --with channel=OUT --with period=10ms", BIN]}
  - {name: b, model: sink, with: {channels: [OUT]}}
links: [{delay: 1ms}]
`, "BIN", s.program))
	s.file("p.yaml", `name: outer
until: 10h
clients:
  - {name: ear, model: sink, with: {channels: [X]}}
  - {name: one, model: scenario, with: {file: pair.yaml, expose: [{OUT: X}]}}
links: [{delay: 1ms}]
`)
	p := s.start([]string{s.hosts()}, "run", "p.yaml", "--nested", "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--listen", "127.0.0.1:0", "--json", "--out", "r")
	pid := p.appears(filepath.Join(s.dir, "a.pid"))
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }() // it is killed before, mostly
	require.Eventually(t, func() bool { return joined(t, filepath.Join(s.dir, "r")) == 4 }, patience/2, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	says := func(client, what string) {
		want, said := regexp.MustCompile(what), ""
		if !assert.Eventually(t, func() bool {
			said = s.metasim("why", client, "--run", "r").out
			return want.MatchString(said)
		}, patience/2, 100*time.Millisecond) {
			require.Regexp(t, want, said)
		}
	}
	says("ear", `^ear at .* waits for one/a: .* \(from host n2, [^)]* to host n1, [^)]*\); one/a at .* on host n2, [^,]*, connected by the nested run one`)
	says("one/b", `^one/b sends nothing more out of the nested run one since 0s; `)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 1, p.wait().status)
	s.clean()
}

// The scenario says who shares a host, or an earlier run does, by its messages.
func TestPlacement(t *testing.T) {
	s := newStage(t)
	path := s.hosts()
	placed := strings.Replace(strings.ReplaceAll(twoPairs, "BIN", s.program), "clients:", "hosts: [n1, n2]\nplacement: {n2: [a]}\nclients:", 1)
	s.file("p.yaml", placed)
	s.file("far.yaml", strings.Replace(strings.ReplaceAll(twoPairs, "BIN", s.program), "clients:", "hosts: [x, y, z]\nplacement: {z: [a]}\nclients:", 1))
	s.file("cross.yaml", `name: cross
until: 1s
clients:
  - {name: a, model: source, with: {channel: A, period: 10ms}}
  - {name: b, model: source, with: {channel: B, period: 10ms}}
  - {name: c, model: sink, with: {channels: [A]}}
  - {name: d, model: sink, with: {channels: [B]}}
links: [{delay: 1ms}]
`)
	require.Zero(t, s.metasim("run", "cross.yaml", "--out", "earlier").status)
	ran := func(args ...string) (where []string) {
		args = append(append([]string{"run"}, args...), "--launch", "ssh", "--remote", s.program, "--listen", "127.0.0.1:0", "--json")
		e := s.start([]string{path}, args...).wait()
		require.Zero(t, e.status, e.err)
		var out run.Outcome
		e.object(t, &out)
		for _, h := range out.Hosts {
			where = append(where, h.Name+": "+strings.Join(h.Clients, " "))
		}
		return where
	}
	require.Equal(t, []string{"n1: b c", "n2: a d"}, ran("p.yaml"))
	require.Equal(t, []string{"n3: b c", "n4: a d"}, ran("p.yaml", "--hosts", "n3,n4"))
	require.Equal(t, []string{"n1: a b", "n2: c d"}, ran("cross.yaml", "--hosts", "n1,n2"))
	require.Equal(t, []string{"n1: b d", "n2: a c"}, ran("cross.yaml", "--hosts", "n1,n2", "--placement-from", "earlier"))
	for says, args := range map[string]string{
		"number 3 of hosts, and the run has 2": "far.yaml --launch ssh --hosts n1,n2",
		"--placement-from: ":                   "cross.yaml --launch ssh --hosts n1,n2 --placement-from nowhere",
		"use --launch ssh or slurm":            "cross.yaml --transport quic --placement-from earlier",
	} {
		e := s.start([]string{path}, append([]string{"run", "--remote", s.program, "--listen", "127.0.0.1:0", "--out", "refused"}, strings.Fields(args)...)...).wait()
		require.Equal(t, 2, e.status, e.err)
		require.Contains(t, e.err, says)
		require.Empty(t, e.out)
		require.NoDirExists(t, filepath.Join(s.dir, "refused"))
	}

	// A run that was cut off goes on with its clients where they were.
	s.file("slow.yaml", strings.Replace(placed, "until: 1s", "rate: 1\nuntil: 2s", 1))
	p := s.start([]string{path}, "run", "slow.yaml", "--launch", "ssh", "--remote", s.program, "--listen", "127.0.0.1:0", "--out", "slow")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "slow", "clients", "d.stdout"))
		return err == nil && joined(t, filepath.Join(s.dir, "slow")) == 4
	}, patience/2, 10*time.Millisecond, "%s", p.err.String())
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status, "it was killed")
	out := s.start([]string{"PATH=" + s.temp}, "resume", "slow", "--json").wait().outcome(t)
	require.Contains(t, out.Error, "not all hosts are ready", "there is no ssh")
	require.True(t, out.Resumable)
	out = s.start([]string{path}, "resume", "slow", "--json").wait().outcome(t)
	require.True(t, out.OK, out.Error)
	require.Equal(t, []run.HostOutcome{{Name: "n1", Clients: []string{"b", "c"}, Exit: "ended"}, {Name: "n2", Clients: []string{"a", "d"}, Exit: "ended"}}, out.Hosts)
}

// All hosts are ready, or no client starts: the error names each host that is not.
func TestHostsThatAreNotReady(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", strings.ReplaceAll(twoPairs, "BIN", s.program))
	path := s.hosts()
	e := s.start([]string{path}, "run", "p.yaml", "--launch", "ssh", "--hosts", "n1,gone,old,talks", "--remote", s.program, "--out", "r").wait()
	require.Equal(t, 1, e.status)
	for _, part := range []string{"host gone was lost: ssh: connect to host gone port 22: No route to host", "host old has metasim 0.0.1, and this is ", "host talks was lost: what it sends is not from a supervisor", "metasim doctor --hosts n1,gone,old,talks --remote " + s.program} {
		require.Contains(t, e.err, part)
	}
	require.NotContains(t, e.err, "host n1")
	m, err := journalDir(t, filepath.Join(s.dir, "r")).Manifest()
	require.NoError(t, err)
	require.False(t, m.OK)
	for args, says := range map[string]string{
		"--hosts=n1": "use --launch ssh", "--launch=ssh": "--hosts node-1,node-2", "--launch=shh": `there is no launcher "shh"`,
		"--launch=ssh --hosts=n1,n1": "stands there twice", "--launch=ssh --hosts=n1 --transport=unix": "use quic or tls",
	} {
		e := s.metasim(append([]string{"run", "p.yaml"}, strings.Fields(args)...)...)
		require.Equal(t, 2, e.status, args)
		e.says(t, says)
	}
}

// A host that is lost during a run ends it, and is named; nothing is left on any host.
func TestALostHost(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", strings.ReplaceAll(strings.Replace(twoPairs, "until: 1s", "until: 1h\nrate: 1", 1), "BIN", s.program))
	path := s.hosts()
	p := s.start([]string{path}, "run", "p.yaml", "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--listen", "127.0.0.1:0", "--json", "--out", "r")
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(filepath.Join(s.dir, "r", "clients", "c.stdout"))
		return err == nil && strings.Contains(string(b), "this is n2")
	}, patience/2, 10*time.Millisecond)
	b, err := os.ReadFile(filepath.Join(s.dir, "ssh.n2"))
	require.NoError(t, err)
	ssh, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(-ssh, syscall.SIGKILL))
	e := p.wait()
	require.Equal(t, 1, e.status)
	var o run.Outcome
	e.object(t, &o)
	require.Contains(t, o.Error, "host n2")
	require.Equal(t, "ended", o.Hosts[0].Exit)
	require.Equal(t, "host n2 was lost: signal: killed", o.Hosts[1].Exit)
	s.clean()
}

// sshd starts the ssh server of the system, for this user and this host alone, and puts a script before the ssh of the system that reaches it under any
// name. It returns the PATH, and what metasim is called there.
func (s *stage) sshd() (path, remote string) {
	s.Helper()
	server := "/usr/sbin/sshd"
	for _, program := range []string{server, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			s.Skip("SKIPPED LOUDLY: there is no " + program + ", so no client is started over a real ssh; on Debian: apt-get install openssh-server")
		}
	}
	dir := s.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		require.NoError(s, os.WriteFile(file, []byte(text), mode))
		return file
	}
	for _, key := range []string{"host", "user"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput()
		require.NoError(s, err, "%s", out)
	}
	// Over its standard input and output, as from inetd: it needs no port. It reads no rights of directories, as those of a test are anybody's.
	config := write("sshd_config", "HostKey "+dir+"/host\nAuthorizedKeysFile "+dir+"/user.pub\nStrictModes no\nUsePAM no\nPidFile none\n", 0o600)
	client := write("ssh_config", "Host *\n  ProxyCommand "+server+" -i -e -f "+config+"\n  IdentityFile "+dir+"/user\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  LogLevel ERROR\n", 0o600)
	system, err := exec.LookPath("ssh")
	require.NoError(s, err)
	write("ssh", "#!/bin/sh\nexec "+system+" -F "+client+" \"$@\"\n", 0o755)
	remote = write("metasim", "#!/bin/sh\nexport "+testprogram.Env("metasim")+" TMPDIR="+s.temp+"\nexec "+s.program+" \"$@\"\n", 0o755)
	path = "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
	try := exec.Command(filepath.Join(dir, "ssh"), "-o", "BatchMode=yes", "any", "echo it works")
	if out, err := try.Output(); err != nil || string(out) != "it works\n" {
		s.Skipf("SKIPPED LOUDLY: sshd does not let this user in, so no client is started over a real ssh: %v: %s", err, out)
	}
	return path, remote
}

// The same over a real ssh and its server.
func TestHostsOverSSH(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", strings.ReplaceAll(twoPairs, "BIN", s.program))
	path, remote := s.sshd()
	s.file("p.yaml", strings.ReplaceAll(twoPairs, "BIN", remote))
	here, e := s.run("p.yaml")
	require.Equal(t, 0, e.status, e.err)
	e = s.start([]string{path}, "run", "p.yaml", "--launch", "ssh", "--hosts", "n1,n2,n3", "--remote", remote, "--listen", "127.0.0.1:0", "--json").wait()
	require.Equal(t, 0, e.status, e.err)
	var there run.Outcome
	e.object(t, &there)
	require.Equal(t, here.Digest, there.Digest)
	require.Len(t, there.Hosts, 3)
	s.clean()

	e = s.start([]string{path}, "doctor", "--hosts", "n1", "--remote", remote, "--json").wait()
	var r doctor.Report
	e.object(t, &r)
	require.Equal(t, r.Metasim, r.Hosts[0].Metasim, e.out)
}
