package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// daemons starts programs in all the ways in which a program leaves the one that started it, each of which notes its number; then it
// becomes the command in its arguments.
const daemons = `echo 'echo -n $$ >$1.new; mv $1.new $1; shift; exec "$@"' >note.sh
sh note.sh background sleep 1000 &
setsid sh note.sh session sleep 1000 &
(setsid env -i PATH="$PATH" sh note.sh daemon sleep 1000 &)
nohup sh note.sh deaf sh -c 'trap "" TERM HUP; while :; do sleep 1; done' &
until test -e background -a -e session -a -e daemon -a -e deaf; do sleep 0.01; done
exec "$@"
`

// withDaemons is a scenario whose client starts daemons first.
func withDaemons(s *stage, command string, paths ...string) (names []string) {
	if _, err := exec.LookPath("setsid"); err != nil {
		s.Skip("SKIPPED LOUDLY: this system has no setsid")
	}
	s.file("daemons.sh", daemons)
	s.file("c.yaml", strings.NewReplacer(`["BIN", "`, `[sh, daemons.sh, "BIN", "`).Replace(withCommand(command, "", paths...)))
	return []string{"background", "session", "daemon", "deaf"}
}

// What a command starts does not outlive a run that went well, however it left its parent, and it is named.
func TestNothingIsLeft(t *testing.T) {
	s := newStage(t)
	names := withDaemons(s, "echo PING PONG")
	p := s.start(nil, "run", "c.yaml", "--json")
	e := p.wait()
	require.Equal(t, 0, e.status)
	for _, name := range names {
		pid := p.appears(filepath.Join(s.dir, name))
		require.Contains(t, e.err, fmt.Sprintf("pid=%d", pid))
		s.gone(pid)
	}
	require.Equal(t, 4, strings.Count(e.err, "went on after the process of its client had ended"))
	require.Equal(t, 3, strings.Count(e.err, "client=ponger"), "one of them has neither its group nor its environment")
	require.Contains(t, e.err, `program="sleep 1000"`)
	s.clean()
}

// Neither do they outlive a metasim that is killed.
func TestNothingIsLeftByForce(t *testing.T) {
	s := newStage(t)
	flag := filepath.Join(s.dir, "here")
	names := withDaemons(s, "stuck PING PONG", flag)
	p := s.start(nil, "run", "c.yaml", "--json")
	pids := []int{p.appears(flag)}
	for _, name := range names {
		pids = append(pids, p.appears(filepath.Join(s.dir, name)))
	}
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.wait().status)
	for _, pid := range pids {
		s.gone(pid)
	}
}

// A command that starts its client in the background ends before the client joins. However late that is, the client takes part as any
// other; and where what goes on ends without having joined, the run fails. Both are named.
func TestBackground(t *testing.T) {
	echo := strings.NewReplacer(`"`, "", ",", "").Replace(pythonEcho(t))
	s := newStage(t)
	s.file("front.yaml", withShell("exec "+echo+" PING PONG", ""))
	front, e := s.run("front.yaml")
	require.Zero(t, e.status, e.err)
	require.Empty(t, e.err)
	for _, joins := range []bool{true, false} {
		goes, then := filepath.Join(s.dir, fmt.Sprint(joins)), "exit 0"
		if joins {
			then = "exec " + echo + " PING PONG"
		}
		s.file("back.yaml", withShell("(until test -e "+goes+"; do sleep 0.01; done; "+then+") & exit 0", ""))
		p := s.start(nil, "run", "back.yaml", "--json", "--out", goes+".run")
		named := regexp.MustCompile(`a program that it started goes on without it; start what is the client in the foreground, or with exec" client=ponger pid=([0-9]+) `)
		require.Eventually(t, func() bool { return named.MatchString(p.err.String()) }, patience/2, 5*time.Millisecond)
		pid := named.FindStringSubmatch(p.err.String())[1]
		s.why(goes+".run", "ponger", "ponger has not joined yet", "process "+pid)
		require.NoError(t, os.WriteFile(goes, nil, 0o600))
		e = p.wait()
		var o outcome
		e.object(t, &o)
		require.Equal(t, joins, o.OK, e.err)
		if joins {
			require.Equal(t, front.Digest, o.Digest)
		} else {
			require.Contains(t, o.Error, "exit status 0; process "+pid+" (")
			require.Contains(t, o.Error, "which it started, went on without it")
		}
	}
	s.clean()
}
