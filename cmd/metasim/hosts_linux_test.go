package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A supervisor on another host that is killed, as by a system that is short of memory, takes nothing with it: the run goes on. At its end nothing is left there,
// not even what a client has started itself, in a session of its own.
func TestAKilledSupervisor(t *testing.T) {
	s := newStage(t)
	script := `setsid sleep 4242 & echo $PPID $! >pids; exec \"$0\" client echo`
	s.file("p.yaml", strings.ReplaceAll(strings.NewReplacer("until: 1s", "until: 2s\nrate: 1", `echo this is $METASIM_TEST_HOST; exec \"$0\" client echo`, script).Replace(twoPairs), "BIN", s.program))
	path := s.hosts()
	p := s.start([]string{path}, "run", "p.yaml", "--launch", "ssh", "--hosts", "n1,n2", "--remote", s.program, "--listen", "127.0.0.1:0", "--json", "--out", "r")
	var pids []string
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(filepath.Join(s.dir, "pids"))
		pids = strings.Fields(string(b))
		return err == nil && len(pids) == 2 && joined(t, filepath.Join(s.dir, "r")) == 4
	}, patience/2, 10*time.Millisecond, "%s", p.err.String())
	supervisor, err := strconv.Atoi(pids[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGKILL))
	e := p.wait()
	command, _ := os.ReadFile(filepath.Join("/proc", pids[1], "cmdline")) // nobody may have reaped it yet: then it has none
	require.Empty(t, string(command), "it goes on, though the run is over: %s", e.err)
	require.Zero(t, e.status, e.err)
	o := e.outcome(t)
	require.True(t, o.OK)
	require.Equal(t, "ended", o.Hosts[0].Exit)
	require.Contains(t, o.Hosts[1].Exit, "host n2 was lost")
	require.Contains(t, e.err, "what the run had left there was ended")
	require.Contains(t, e.err, "(sleep 4242)")
	s.clean()
}
