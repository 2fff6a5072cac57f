package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A homeserver and a simulation server of a run are killed. Each is replaced by a process that begins at its last checkpoint, and the run is the one in which nobody died.
func TestServersOfARunAreKilled(t *testing.T) {
	s := newStage(t)
	if len(below(1)) == 0 {
		t.Skip("SKIPPED LOUDLY: this kernel does not list the children of a process (/proc/1/task/1/children), so nobody was killed")
	}
	scenario := func(each string) string {
		return `name: servers
until: 20s
clients:
  - {name: home, model: homeserver` + each + `, with: {neighbours: [north, east, south], of: [north, east, south], balls: 20}}
  - {name: north, model: simserver` + each + `, with: {home: home, neighbours: [east, south], balls: 20, resting: 12, balance: 1s, side: 20, sees: 10, retry: 100ms, shows: owners}}
  - {name: east, model: simserver` + each + `, with: {home: home, neighbours: [north, south], balls: 20, balance: 1s, side: 20, sees: 10, retry: 100ms, joins: 2s}}
  - {name: south, model: simserver` + each + `, with: {home: home, neighbours: [north, east], balls: 20, resting: 18, balance: 1s, side: 20, sees: 10, retry: 100ms, leaves: 15s}}
  - {name: watcher, model: sink, with: {channels: [owners]}}
links:
  - {delay: 5ms, loss: 0.1, duplicate: 0.1}
`
	}
	s.file("quiet.yaml", scenario(""))
	s.file("killed.yaml", scenario(", on_exit: restart, checkpoint: 1s")+"rate: 4\n") // five seconds: it is not over before the second one is killed
	var quiet, out outcome
	e := s.metasim("run", "quiet.yaml", "--json", "--transport", "mem", "--out", "quiet")
	require.Zero(t, e.status, e.err)
	e.object(t, &quiet)
	p := s.start(nil, "run", "killed.yaml", "--json", "--transport", "unix", "--out", "killed")
	for k, name := range []string{"north", "home"} {
		p.written("killed", float64(k+1)/3, "quiet")
		pid := p.processOf(name, 0)
		require.NotZero(t, pid, "the run was over before %s was killed", name)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	e = p.wait()
	require.Zero(t, e.status, e.err)
	e.object(t, &out)
	assert.Equal(t, quiet.Digest, out.Digest)
	assert.Equal(t, quiet.SendsDigest, out.SendsDigest)
	for _, name := range []string{"north", "home"} {
		assert.Regexp(t, `"name":"`+name+`",[^{}]*"restarts":1,"checkpoints":[1-9]`, e.out)
	}
}
