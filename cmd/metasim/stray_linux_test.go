package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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

// A command that starts its client in the background has ended before the client joins. What goes on is named.
func TestBackground(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", withShell("sleep 1000 & echo $! >pid", ""))
	o, e := s.run("c.yaml")
	require.Equal(t, 1, e.status)
	b, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	require.NoError(t, err)
	require.Contains(t, o.Error, fmt.Sprintf("exit status 0; process %s (sleep 1000), which it started, goes on without it", strings.TrimSpace(string(b))))
	s.clean()
}
