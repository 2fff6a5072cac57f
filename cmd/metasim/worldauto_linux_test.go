package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gathering is a world whose three robots are in three levels at first, and in one of them later.
func gathering() string {
	var b strings.Builder
	b.WriteString(`<sdf version="1.9"><world name="gathering"><gravity>0 0 0</gravity><physics name="10ms" type="ignored"><max_step_size>0.01</max_step_size></physics>
<plugin filename="f" name="gz::sim::systems::Physics"/><plugin filename="m" name="metasim::systems::Wind"><velocity>6 0 0</velocity><drag>1</drag></plugin>`)
	plan := ""
	for k := range 3 {
		fmt.Fprintf(&b, `<model name="r%d"><pose>%d %d 0 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.5</radius></sphere></geometry></collision></link></model>`, k, 9*k-20, 3*k)
		plan += fmt.Sprintf(`<performer name="p%d"><ref>r%d</ref><geometry><box><size>2 2 2</size></box></geometry></performer>`, k, k)
	}
	for _, l := range [][3]any{{"west", -15, 10}, {"middle", -5, 10}, {"east", 100, 200}} {
		plan += fmt.Sprintf(`<level name="%s"><pose>%d 0 0 0 0 0</pose><geometry><box><size>%d 40 40</size></box></geometry><buffer>1</buffer></level>`, l[0], l[1], l[2])
	}
	return b.String() + `<plugin filename="dummy" name="gz::sim">` + plan + "</plugin></world></sdf>"
}

// Secondaries have processes while performers need them, and the states are those of the world alone.
func TestSecondariesComeAndGo(t *testing.T) {
	s := newStage(t)
	if len(below(1)) == 0 {
		t.Skip("SKIPPED LOUDLY: this kernel does not list the children of a process (/proc/1/task/1/children), so no secondary was looked for")
	}
	s.file("w.sdf", gathering())
	args := []string{"world", "run", "w.sdf", "--iterations", "2000", "--json"}
	alone := s.metasim(append(args, "--hashes", "alone", "--out", "a")...)
	require.Zero(t, alone.status, alone.err)
	p := s.start(nil, append(args, "--hashes", "auto", "--out", "b", "--secondaries", "auto:3", "--rate", "10")...)
	e := s.comesAndGoes(p)
	assert.Empty(t, e.err)
	assert.Equal(t, s.read("alone"), s.read("auto"))
	assert.Contains(t, e.out, `"runners":[{"name":"secondary-1","steps":2000,`)
	assert.Regexp(t, `{"name":"secondary-3","steps":\d{2,3},"performers":\[\],"levels":\[\]}`, e.out)
	assert.Contains(t, e.out, `"starts":3,"retires":2`)

	var hash struct {
		StateHash string `json:"state_hash"`
	}
	require.NoError(t, json.Unmarshal([]byte(alone.out), &hash))
	s.file("s.yaml", `name: gathering
rate: 10
clients:
  - {name: world, model: world, with: {file: w.sdf, iterations: 2000, policy: gz, secondaries: [secondary-1, secondary-2, secondary-3], auto: true}}
  - {name: secondary-1, model: world-secondary, on_exit: restart, checkpoint: 1s}
  - {name: secondary-2, model: world-secondary}
  - {name: secondary-3, model: world-secondary, on_exit: restart, checkpoint: 1s}
`)
	p = s.start(nil, "run", "s.yaml", "--transport", "unix", "--json")
	assert.NotZero(t, p.processOf("secondary-2", 0), "its process may not be started again, so it has one from the start")
	e = s.comesAndGoes(p)
	assert.Contains(t, e.out, fmt.Sprintf(`"state_hash":%q`, hash.StateHash))
}

// comesAndGoes waits for the end of a run in which the third secondary has a process, and loses it before the end.
func (s *stage) comesAndGoes(p *running) ending {
	pid := p.processOf("secondary-3", 0)
	require.NotZero(s, pid, "the third secondary never had a process")
	gone := func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return err != nil
	}
	for p.running() && !gone() {
		<-time.After(time.Millisecond)
	}
	assert.True(s, p.running(), "the third secondary had its process to the end of the run")
	e := p.wait()
	require.Zero(s, e.status, e.err)
	return e
}

// A world is paused, stepped and let go on as any run, with all that move its models, and has the same states, also across a reset. A step is one of the world, and while it is paused its secondaries, which are processes, compute nothing.
func TestAWorldIsPausedAndStepped(t *testing.T) {
	s := raced(t)
	s.file("windy.sdf", strings.ReplaceAll(windy("windy"), "</max_step_size>", "</max_step_size><real_time_factor>0.01</real_time_factor>"))
	e := s.metasim("world", "run", "windy.sdf", "--iterations", "12", "--reset", "7", "--hashes", "free")
	require.Zero(t, e.status, e.err)
	began := time.Now()
	slow := s.start(nil, "world", "run", "windy.sdf", "--iterations", "12", "--reset", "7", "--runtimes", "unix", "--secondaries", "2", "--hashes", "held", "--rate", "file", "--out", "slow", "--json")
	ctl := func(command string) string {
		var e ending
		require.Eventually(t, func() bool { // until it has begun
			e = s.metasim("ctl", command, "--run", "slow")
			return e.status == 0
		}, patience, 10*time.Millisecond)
		return e.out
	}
	var stopped string
	require.Eventually(t, func() bool { // until all that it has been authorized to is done
		stopped = ctl("pause")
		return strings.HasPrefix(stopped, "paused at")
	}, patience, 10*time.Millisecond)
	if pid := slow.processOf("secondary-1", 0); assert.NotZero(t, pid) {
		before := ticksOf(pid)
		<-time.After(300 * time.Millisecond)
		assert.LessOrEqual(t, ticksOf(pid)-before, 2.0, "hundredths of a second")
	}
	assert.Equal(t, stopped, ctl("pause"), "the world stands still")
	assert.NotEqual(t, stopped, ctl("step"))
	ctl("step")
	ctl("resume")
	e = slow.wait()
	require.Zero(t, e.status, e.err)
	require.GreaterOrEqual(t, time.Since(began), 5500*time.Millisecond, "55 ms at a hundredth of real time")
	free, held := s.read("free"), s.read("held")
	require.Equal(t, string(free), string(held))
}
