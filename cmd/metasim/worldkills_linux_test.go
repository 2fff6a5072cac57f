package main

import (
	"flag"

	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var secondaryKills = flag.Int("secondary-kills", 3, "how many processes of secondaries TestSecondariesAreKilled kills; 100 take some minutes")

// divided is a scenario of that world with three secondaries.
func divided(steps int, each string) string {
	text := fmt.Sprintf(`name: divided
clients:
  - {name: world, model: world, with: {file: w.sdf, iterations: %d, policy: gz, secondaries: [a, b, c], hashes: true, run_ahead: 20ms}}
  - {name: hashes, model: sink, with: {channels: [world/hash]}}
`, steps)
	for _, name := range []string{"a", "b", "c"} {
		text += fmt.Sprintf("  - {name: %s, model: world-secondary%s}\n", name, each)
	}
	return text
}

// processOf waits for the process of a client below a process, one that comes after another, and returns its number; 0: the run is over.
func (p *running) processOf(name string, after int) int {
	for p.running() {
		for _, pid := range below(p.cmd.Process.Pid) {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
			if err == nil && pid != after && strings.Contains("\x00"+string(text), "\x00METASIM_CLIENT="+name+"\x00") {
				return pid
			}
		}
		<-time.After(time.Millisecond)
	}
	return 0
}

// running reports whether the process has not ended yet. It may not have been waited for.
func (p *running) running() bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// written waits until a run has written a part of what another one has written in all.
func (p *running) written(run string, part float64, all string) {
	size := func(dir string) float64 {
		info, err := os.Stat(filepath.Join(p.dir, dir, "journal"))
		if err != nil {
			return 0 // it has not begun
		}
		return float64(info.Size())
	}
	for p.running() && size(run) < part*size(all) {
		<-time.After(time.Millisecond)
	}
}

// below returns the processes below one.
func below(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word) // the kernel writes numbers
			all = append(append(all, child), below(child)...)
		}
	}
	return all
}

// Processes of secondaries are killed at random. Each is replaced by one that begins at its last checkpoint, and the run is the one in which nobody died: each state, and all that
// was sent. Where they are not to be replaced, the death of one ends the run, as in Gazebo.
func TestSecondariesAreKilled(t *testing.T) {
	s := newStage(t)
	if len(below(1)) == 0 {
		t.Skip("SKIPPED LOUDLY: this kernel does not list the children of a process (/proc/1/task/1/children), so no secondary was killed")
	}
	n := *secondaryKills
	s.patience = max(patience, time.Duration(n)*20*time.Second)
	s.file("w.sdf", rolling())
	s.file("quiet.yaml", divided(500*n, ""))
	s.file("killed.yaml", divided(500*n, ", on_exit: restart, restarts: 1000, checkpoint: 500ms")+"rate: 2\n") // so that it is not over before the last kill
	var quiet, out outcome
	e := s.metasim("run", "quiet.yaml", "--json", "--transport", "mem", "--out", "quiet")
	require.Zero(t, e.status, e.err)
	e.object(t, &quiet)

	p := s.start(nil, "run", "killed.yaml", "--json", "--transport", "unix", "--out", "killed")
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	killed := map[string]int{}
	for k := range n {
		name := []string{"a", "b", "c"}[random.IntN(3)]
		p.written("killed", (float64(k)+random.Float64())/float64(n+1), "quiet")
		pid := p.processOf(name, killed[name])
		require.NotZero(t, pid, "the run was over before kill %d", k+1)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		killed[name] = pid
	}
	e = p.wait()
	require.Zero(t, e.status, e.err)
	e.object(t, &out)
	restarts := 0
	for _, c := range out.Clients {
		restarts += c.Restarts
	}
	assert.Equal(t, n, restarts)
	assert.Equal(t, quiet.Digest, out.Digest)
	assert.Equal(t, quiet.SendsDigest, out.SendsDigest)
	assert.Regexp(t, `"handovers":\d+,"merges":\d+,"splits":\d+,"run_ahead_s":`, e.out)

	p = s.start(nil, "run", "quiet.yaml", "--transport", "unix", "--out", "stopped")
	p.written("stopped", 0.3, "quiet")
	require.NoError(t, syscall.Kill(p.processOf("b", 0), syscall.SIGKILL))
	e = p.wait()
	assert.Equal(t, 1, e.status)
	assert.Contains(t, e.err, `client "b"`)
}
