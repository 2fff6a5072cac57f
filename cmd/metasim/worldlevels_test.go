package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roomy is a world with a level in the west, where the ball is, and one in the east.
const roomy = `<sdf version="1.9">
  <world name="roomy">
    <gravity>0 0 0</gravity>
    <physics name="10ms" type="ignored"><max_step_size>0.01</max_step_size></physics>
    <plugin filename="f" name="gz::sim::systems::Physics"/>
    <plugin filename="f" name="metasim::systems::Wind"><velocity>40 0 0</velocity><drag>2</drag></plugin>
    <model name="ball"><pose>-5 0 0 0 0 0</pose><link name="l"/></model>
    <model name="a"><static>true</static><link name="l"/></model>
    <model name="b"><static>true</static><link name="l"/></model>
    <plugin filename="dummy" name="gz::sim">
      <performer name="p"><ref>ball</ref><geometry><box><size>2 2 2</size></box></geometry></performer>
      <level name="west"><pose>-4 0 0 0 0 0</pose><geometry><box><size>8 8 8</size></box></geometry><buffer>2</buffer><ref>a</ref></level>
      <level name="east"><pose>4 0 0 0 0 0</pose><geometry>SHAPE</geometry><buffer>2</buffer><ref>b</ref></level>
    </plugin>
  </world>
</sdf>`

// Levels are acted on unless --policy says none, and what is wrong with them is told with its line.
func TestWorldWithLevels(t *testing.T) {
	s := newStage(t)
	s.file("good.sdf", strings.ReplaceAll(roomy, "SHAPE", "<box><size>8 8 8</size></box>"))
	entities := map[string]int{}
	for _, policy := range []string{"gz", "document", "none"} {
		e := s.metasim("world", "run", "good.sdf", "--iterations", "30", "--policy", policy, "--out", policy, "--json")
		require.Zero(t, e.status, e.err)
		assert.Empty(t, e.err)
		var out worldOutcome
		require.NoError(t, json.Unmarshal([]byte(e.out), &out))
		entities[policy] = out.Entities
		switch policy {
		case "gz":
			assert.Equal(t, []runnerOutcome{{"world", 30, []string{"p"}, []string{"west"}}}, out.Runners)
		case "document":
			assert.Equal(t, []runnerOutcome{{"world", 30, []string{"p"}, []string{"west", "east"}}}, out.Runners)
		case "none":
			assert.Empty(t, out.Runners)
		}
	}
	assert.Equal(t, map[string]int{"gz": 5, "document": 7, "none": 7}, entities, "the world, and two of each model")
	text := s.metasim("world", "run", "good.sdf", "--iterations", "70", "--out", "text")
	assert.Contains(t, text.out, "world: 70 steps of the performers p, with the levels east\n")
	good := s.metasim("world", "check", "good.sdf")
	assert.Contains(t, good.out, "models 3, lights 0, plugins 3, step 10ms, levels 2, performers 1\n")

	s.file("bad.sdf", strings.ReplaceAll(roomy, "SHAPE", "<sphere><radius>4</radius></sphere>"))
	const want = `bad.sdf:13:50: the geometry of the level "east" is <sphere>, and only a box can be; write <box><size>10 10 10</size></box>`
	for _, args := range [][]string{{"world", "check", "bad.sdf"}, {"world", "run", "bad.sdf", "--iterations", "5"}} {
		bad := s.metasim(args...)
		assert.Equal(t, 2, bad.status)
		assert.Contains(t, bad.err, want)
	}
	without := s.metasim("world", "run", "bad.sdf", "--iterations", "5", "--policy", "none", "--out", "without")
	assert.Zero(t, without.status, without.err)
	assert.Empty(t, without.err)
	typed := s.metasim("world", "run", "good.sdf", "--iterations", "5", "--policy", "gazebo")
	assert.Equal(t, 2, typed.status)
	assert.Contains(t, typed.err, `--policy is "gazebo"; use gz, document, none`)

	worlds, err := filepath.Abs("../../federates/sdf/testdata/worlds")
	require.NoError(t, err)
	gazebo := s.metasim("world", "run", filepath.Join(worlds, "test_worlds_levels.sdf"), "--iterations", "5", "--out", "gazebo")
	assert.Zero(t, gazebo.status, gazebo.err)
	assert.Contains(t, gazebo.out, "world: 5 steps of the performers perf_sphere, perf_box, with the levels none\n")
}

// However many secondaries move the models, in this process or in others, the hashes are the same, and the outcome says who moved what.
func TestWorldSecondaries(t *testing.T) {
	s := raced(t)
	s.file("w.sdf", strings.Replace(strings.ReplaceAll(roomy, "SHAPE", "<box><size>8 8 8</size></box>"), `<model name="a">`,
		`<model name="other"><pose>-6 3 0 0 0 0</pose><link name="l"/></model><model name="a">`, 1))
	var want []byte
	for _, args := range [][]string{{}, {"--secondaries", "1", "--runtimes", "mem"}, {"--secondaries", "2"}, {"--secondaries", "3", "--runtimes", "in-process"},
		{"--secondaries", "auto:2", "--balance", "measured"}} {
		out := filepath.Join(s.dir, strings.Join(append(args, "out"), ""))
		e := s.metasim(append([]string{"world", "run", "w.sdf", "--iterations", "60", "--hashes", "hashes", "--json", "--out", out}, args...)...)
		require.Zero(t, e.status, e.err)
		hashes, err := os.ReadFile(filepath.Join(s.dir, "hashes"))
		require.NoError(t, err)
		if want == nil {
			want = hashes
		}
		assert.Equal(t, string(want), string(hashes), args)
		var o worldOutcome
		require.NoError(t, json.Unmarshal([]byte(e.out), &o))
		if len(args) > 2 && args[1] == "auto:2" {
			assert.Equal(t, []runnerOutcome{{"secondary-1", 60, []string{"p"}, []string{"east"}}}, o.Runners, "one performer needs one")
			assert.Equal(t, uint64(1), o.Starts)
			assert.Equal(t, &balanceOutcome{BeforeNS: []int64{}, AfterNS: []int64{}, Moves: []moveOutcome{}}, o.Balance, "nothing is measured before 100 steps")
			manifest, err := os.ReadFile(filepath.Join(out, "manifest.json"))
			require.NoError(t, err)
			assert.Regexp(t, `"deterministic": ?false`, string(manifest))
		}
		if len(args) < 2 || args[1] != "2" {
			continue
		}
		assert.Equal(t, []runnerOutcome{{"secondary-1", 60, []string{}, []string{}}, {"secondary-2", 60, []string{"p"}, []string{"east"}}}, o.Runners)
		assert.Equal(t, division{Handovers: 1}, o.division)
		assert.Contains(t, e.out, `"handovers":1,"merges":0,"splits":0,"run_ahead_s":0`)
	}
	text := s.metasim("world", "run", "w.sdf", "--iterations", "70", "--secondaries", "2", "--runtimes", "mem", "--out", "text")
	assert.Contains(t, text.out, "secondary-1: 70 steps of the performers none, with the levels none\nsecondary-2: 70 steps of the performers p, with the levels east\n1 hand-overs at borders, 0 merges, 0 splits\n")
	for _, n := range []string{"0", "65", "many", "auto:", "auto:0", "auto4", "automatic"} {
		e := s.metasim("world", "run", "w.sdf", "--iterations", "5", "--secondaries", n)
		assert.Equal(t, 2, e.status)
		assert.Contains(t, e.err, "--secondaries is \""+n+"\"; write a whole number from 1 to 64, or auto, or auto:4 for 4 at most")
	}
	const physics = `<plugin filename="f" name="gz::sim::systems::Physics"/>`
	still := strings.Replace(roomy, physics, "", 1)
	away := strings.Replace(roomy, physics, `<plugin filename="l" name="gz::sim::systems::LockStep"><plugin filename="f" name="gz::sim::systems::Physics"/></plugin>`, 1)
	for _, world := range []string{still, away} {
		s.file("idle.sdf", strings.ReplaceAll(world, "SHAPE", "<box><size>8 8 8</size></box>"))
		alone := s.metasim("world", "run", "idle.sdf", "--iterations", "5", "--json", "--out", "idle-"+strconv.Itoa(len(world)))
		e := s.metasim("world", "run", "idle.sdf", "--iterations", "5", "--secondaries", "2", "--balance", "measured", "--json", "--out", "idle2-"+strconv.Itoa(len(world)))
		assert.Zero(t, e.status, e.err)
		var want, got worldOutcome
		alone.object(t, &want)
		e.object(t, &got)
		assert.Equal(t, want.Digest, got.Digest, "it is the run of the world alone")
		assert.Contains(t, e.err, "warning: idle.sdf:2")
		assert.Contains(t, e.err, "the world has no system that moves models here, so its secondaries have nothing to do")
	}
	primary := s.metasim("world", "run", "idle.sdf", "--iterations", "5", "--network-role", "primary", "--network-secondaries", "2")
	assert.Equal(t, 2, primary.status, "nobody may wait for it in vain")
	for _, wrong := range [][2]string{{"even", `--balance is "even"; use static or measured`}, {"measured", "--balance measured moves models between secondaries, and there are none; add --secondaries"}} {
		e := s.metasim("world", "run", "w.sdf", "--iterations", "5", "--balance", wrong[0])
		assert.Equal(t, 2, e.status)
		assert.Contains(t, e.err, wrong[1])
	}
	e := s.metasim("world", "run", "w.sdf", "--iterations", "5", "--run-ahead", "50ms")
	assert.Equal(t, 2, e.status)
	assert.Contains(t, e.err, "--run-ahead 50ms is how far secondaries go ahead of the world, and there are none; add --secondaries")
	assert.Zero(t, s.metasim("world", "run", "w.sdf", "--iterations", "5", "--run-ahead", "0s").status, "they never do, so they need not be there")
}
