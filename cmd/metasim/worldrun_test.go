package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/run"
)

// windyWorld is a world of one ball, with systems in placeholders.
const windyWorld = `<sdf version="1.9">
  <world name="NAME">
    <physics name="5ms" type="ignored"><max_step_size>0.005</max_step_size></physics>
    <plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
    <plugin filename="gz-sim-lock-step-system" name="gz::sim::systems::LockStep">
      <update_rate>0</update_rate>
      <plugin filename="metasim" name="metasim::systems::Wind"><velocity>2 0 0</velocity><drag>0.5</drag></plugin>
    </plugin>
    <plugin filename="gz-sim-lock-step-system" name="gz::sim::systems::LockStep">
      <plugin filename="metasim" name="metasim::systems::Odometer"/>
    </plugin>
    <model name="ground">
      <static>true</static>
      <link name="link"><collision name="c">
        <geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>
      </collision></link>
    </model>
    <model name="ball">
      <pose>0 0 2 0 0 0</pose>
      <link name="link"><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link>
    </model>
  </world>
`

func windy(names ...string) string {
	var worlds []string
	for _, name := range names {
		_, world, _ := strings.Cut(strings.ReplaceAll(windyWorld, "NAME", name), "\n")
		worlds = append(worlds, world)
	}
	return `<sdf version="1.9">` + "\n" + strings.Join(worlds, "") + "</sdf>\n"
}

// A world has the same states, wherever its systems run, over every transport.
func TestWorldRun(t *testing.T) {
	s := newStage(t)
	s.file("windy.sdf", windy("windy"))
	var hashes, digest string
	for _, where := range append([]string{"in-process"}, run.Transports...) {
		e := s.metasim("world", "run", "windy.sdf", "--iterations", "40", "--runtimes", where, "--hashes", "hashes", "--out", where, "--json")
		require.Zero(t, e.status, e.err+e.out)
		var out worldOutcome
		require.NoError(t, json.Unmarshal([]byte(e.out), &out), e.out)
		assert.True(t, out.OK)
		assert.EqualValues(t, 40, out.Iterations)
		assert.EqualValues(t, 200_000_000, out.SimTimeNS)
		assert.Equal(t, 7, out.Entities, "the world, two models, two links, two shapes")
		text, err := os.ReadFile(filepath.Join(s.dir, "hashes"))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		require.Len(t, lines, 40)
		assert.Equal(t, "40 "+out.StateHash, lines[39])
		if where == "in-process" {
			hashes = string(text)
			assert.Empty(t, out.Runtimes)
			continue
		}
		require.Equal(t, hashes, string(text), where)
		if where == "mem" {
			digest = out.Digest
		}
		assert.Equal(t, digest, out.Digest, where)
		assert.Equal(t, []runtimeOutcome{{"wind", 40, "left"}, {"odometer", 10, "left"}}, out.Runtimes)
	}
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "elsewhere"), 0o700))
	s.file("elsewhere/windy.sdf", windy("windy"))
	moved := s.metasim("world", "run", "elsewhere/windy.sdf", "--iterations", "40", "--runtimes", "mem", "--hashes", "hashes", "--out", "moved", "--json")
	var out worldOutcome
	require.NoError(t, json.Unmarshal([]byte(moved.out), &out), moved.err)
	assert.Equal(t, digest, out.Digest, "what is sent depends on where the file lies")

	text := s.metasim("world", "run", "windy.sdf", "--until", "100ms", "--runtimes", "mem", "--report", "--out", "text")
	require.Zero(t, text.status, text.err)
	for _, part := range []string{"wind: called in 19 steps", "19 steps, 95ms of simulated time", "Clients, the most critical first"} {
		assert.Contains(t, text.out, part)
	}
}

// The worlds of one file run in one run, each with clients of its own, whose names do not collide.
func TestWorldsOfOneFile(t *testing.T) {
	s := newStage(t)
	s.file("two.sdf", windy("a", "b"))
	e := s.metasim("world", "run", "two.sdf", "--iterations", "20", "--runtimes", "mem", "--hashes", "both.txt", "--out", "both", "--json")
	require.Zero(t, e.status, e.err+e.out)
	var out worldOutcome
	require.NoError(t, json.Unmarshal([]byte(e.out), &out))
	require.Len(t, out.Worlds, 2)
	assert.Equal(t, []string{"a", "b"}, []string{out.Worlds[0].Name, out.Worlds[1].Name})
	assert.NotEqual(t, out.Worlds[0].StateHash, out.Worlds[1].StateHash, "the name of a world is part of its state")
	require.Len(t, out.Runtimes, 4)
	e = s.metasim("world", "run", "two.sdf", "--iterations", "20", "--runtimes", "mem", "--world", "a", "--hashes", "h", "--out", "one", "--json")
	require.Zero(t, e.status, e.err+e.out)
	var one worldOutcome
	require.NoError(t, json.Unmarshal([]byte(e.out), &one))
	assert.Equal(t, out.StateHash, one.StateHash)
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(s.dir, file))
		require.NoError(t, err)
		return string(text)
	}
	of := map[string]string{} // lines without the name of the world
	for line := range strings.Lines(read("both.txt")) {
		words := strings.Fields(line)
		require.Len(t, words, 3)
		of[words[2]] += words[0] + " " + words[1] + "\n"
	}
	assert.Equal(t, read("h"), of["a"], "each world has the states that it has alone")
	assert.True(t, strings.HasSuffix(of["b"], "20 "+out.Worlds[1].StateHash+"\n"))
}

// Every world of Gazebo that we have runs as it is, or the reason why not is one sentence.
func TestWorldsOfGazeboRun(t *testing.T) {
	files, _ := filepath.Glob("../../federates/sdf/testdata/worlds/*.sdf") // its only error is a wrong pattern
	require.Len(t, files, 17)
	s := newStage(t)
	for _, file := range files {
		file, err := filepath.Abs(file)
		require.NoError(t, err)
		e := s.metasim("world", "run", file, "--iterations", "2", "--runtimes", "in-process", "--json")
		if strings.HasSuffix(file, "bouncing_ball_model.sdf") {
			assert.Equal(t, 2, e.status)
			assert.Contains(t, e.out, "has no world; name a file with a")
			continue
		}
		require.Zero(t, e.status, e.err)
		var out worldOutcome
		require.NoError(t, json.Unmarshal([]byte(e.out), &out))
		assert.EqualValues(t, 2, out.Iterations, file)
	}
}

// A world goes back to its start, and does the same again: with systems in Go, and with one in Python.
func TestAWorldIsReset(t *testing.T) {
	s := newStage(t)
	s.file("two.sdf", windy("a", "b"))
	e := s.metasim("world", "run", "two.sdf", "--world", "b", "--iterations", "30", "--runtimes", "in-process", "--hashes", "fresh")
	require.Zero(t, e.status, e.err)
	fresh := strings.SplitAfter(strings.TrimSpace(string(s.read("fresh"))), "\n")
	want := strings.Join(slices.Concat(fresh[:20], fresh[:3], fresh[:7]), "")
	for _, where := range []string{"in-process", "unix"} {
		e := s.metasim("world", "run", "two.sdf", "--world", "b", "--iterations", "30", "--reset", "20,23", "--runtimes", where, "--hashes", "again", "--json")
		require.Zero(t, e.status, e.err)
		require.Equal(t, want, string(s.read("again")), where)
		require.Contains(t, e.out, `"iterations":30,"sim_time_ns":150000000,`)
		require.Contains(t, e.out, `"resets":2`)
	}
	e = s.metasim("world", "run", "two.sdf", "--iterations", "30", "--reset", "20", "--runtimes", "mem")
	require.Zero(t, e.status, e.err)
	for resets, want := range map[string]string{
		"30": "--reset is 30; write an iteration from 1 on, and before the last one", "-1": "--reset is -1; write", "3,3": "--reset names iteration 3 twice; name it once",
	} {
		e = s.metasim("world", "run", "two.sdf", "--iterations", "30", "--reset="+resets)
		require.Equal(t, 2, e.status)
		require.Contains(t, e.err, want)
	}
}

// The world of a scenario from somebody else reads nothing outside of its directory.
func TestAWorldIncludesNothingFromOutside(t *testing.T) {
	s := newStage(t)
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "theirs"), 0o700))
	s.file("mine.sdf", `<sdf version="1.9"><model name="secret"><link name="l"/></model></sdf>`)
	s.file("theirs/w.sdf", `<sdf version="1.9"><world name="w"><include><uri>../mine.sdf</uri></include></world></sdf>`)
	s.file("theirs/w.yaml", "name: w\nclients:\n  - {name: world, model: world, with: {file: w.sdf, iterations: 2}}\n")
	for _, transport := range []string{"mem", "unix"} {
		e := s.metasim("run", "theirs/w.yaml", "--transport", transport)
		require.Equal(t, 1, e.status, e.err)
		require.Contains(t, e.err, `"../mine.sdf" lies outside of the scenario's directory; move it below, or use --allow-outside`)
		require.NotContains(t, e.err, "secret")
		require.Zero(t, s.metasim("run", "theirs/w.yaml", "--transport", transport, "--allow-outside").status)
	}
}

func TestWorldRunSaysWhatIsWrong(t *testing.T) {
	s := newStage(t)
	s.file("windy.sdf", windy("windy"))
	s.file("two.sdf", windy("a", "b"))
	s.file("wrong.sdf", strings.ReplaceAll(windy("w"), "systems::Wind", "systems::Wnid"))
	s.file("bare.sdf", strings.ReplaceAll(windy("w"), `<plugin filename="metasim" name="metasim::systems::Odometer"/>`, ""))
	s.file("fast.sdf", strings.ReplaceAll(windy("w"), "<velocity>2 0 0<", "<velocity>fast<"))
	s.file("heavy.sdf", strings.ReplaceAll(windy("w"), `<link name="link"><collision name="c"><geometry><sphere>`, `<link name="link"><inertial><mass>1</mass><inertia><ixx>0</ixx></inertia></inertial><collision name="c"><geometry><sphere>`))
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"windy.sdf"}, 2, "nothing says how long the world is to run; use --iterations or --until"},
		{[]string{"windy.sdf", "--iterations", "1", "--rate", "fast"}, 2, `--rate is "fast"; write a number above 0, such as 1, or file`},
		{[]string{"windy.sdf", "--iterations", "1", "--progress", "much"}, 2, `--progress is "much"; `},
		{[]string{"windy.sdf", "--iterations", "1", "--runtimes", "pigeon"}, 2, `--runtimes is "pigeon"; use in-process, mem, unix`},
		{[]string{"windy.sdf", "--iterations", "1", "--run-ahead", "-1s"}, 2, `--run-ahead is "-1s"; write a duration of 0s or more, such as 100ms`},
		{[]string{"windy.sdf", "--iterations", "1", "--timeout", "5"}, 2, `--timeout is "5"; write a duration of 1ms or more, such as 1m`},
		{[]string{"two.sdf", "--iterations", "1", "--world", "c"}, 2, "two.sdf has no world c; it has a, b"},
		{[]string{"wrong.sdf", "--iterations", "1"}, 2, `wrong.sdf:7: there is no system metasim::systems::Wnid; did you mean "metasim::systems::Wind"?`},
		{[]string{"bare.sdf", "--iterations", "1"}, 2, "bare.sdf:9: gz::sim::systems::LockStep names no plugin; write the <plugin> that it stands for inside it"},
		{[]string{"fast.sdf", "--iterations", "1", "--runtimes", "mem"}, 1, `system wind, in Configure: `},
		{[]string{"fast.sdf", "--iterations", "1", "--runtimes", "in-process"}, 1, `fast.sdf:7: <velocity> is "fast", not 3 numbers`},
		{[]string{"heavy.sdf", "--iterations", "1"}, 2, "heavy.sdf:18: model ball: its moments of inertia are those of no body"},
	} {
		e := s.metasim(append([]string{"world", "run"}, c.args...)...)
		assert.Equal(t, c.status, e.status, "%v: %s", c.args, e.err)
		assert.Contains(t, e.err, c.want)
		assert.LessOrEqual(t, strings.Count(e.err, "\n"), 4, e.err)
	}
}

// A system may be a program of its own in any language: one in Python, written from docs/lockstep.md, gives the states of the one in Go.
func TestASystemInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no python3, so no system in another language was tried")
	}
	library, err := filepath.Abs("../../clients/python")
	require.NoError(t, err)
	s := newStage(t)
	s.file("windy.sdf", windy("windy"))
	s.file("w.yaml", "name: w\nclients:\n"+
		"  - {name: world, model: world, with: {file: windy.sdf, iterations: 60, remote: [wind, odometer], resets: true}}\n"+
		"  - {name: odometer, model: lockstep-runtime}\n"+
		"  - {name: again, model: source, with: {channel: world/reset, start: 200ms, period: 1s, count: 1}}\n"+
		`  - {name: wind, run: ["`+python+`", -B, "`+filepath.Join(library, "examples", "wind.py")+`", world, wind], env: ["PYTHONPATH=`+library+`"]}`)
	e := s.metasim("world", "run", "windy.sdf", "--iterations", "60", "--reset", "40", "--runtimes", "in-process", "--json")
	require.Zero(t, e.status, e.err)
	var want worldOutcome
	require.NoError(t, json.Unmarshal([]byte(e.out), &want))
	for _, transport := range []string{"unix", "tcp"} {
		e = s.metasim("run", "w.yaml", "--transport", transport, "--json")
		require.Zero(t, e.status, e.err+e.out)
		var out run.Outcome
		require.NoError(t, json.Unmarshal([]byte(e.out), &out))
		i := slices.IndexFunc(out.Clients, func(c run.ClientOutcome) bool { return c.Name == "world" })
		require.Contains(t, string(out.Clients[i].Result), want.StateHash, "over %s", transport)
	}
}

// seenWorld is a world with a camera whose system stands in a placeholder that names none, as in Gazebo's own demo: its configuration does.
const seenWorld = `<sdf version="1.9"><world name="seen">
  <physics name="5ms" type="ignored"><max_step_size>0.005</max_step_size></physics>
  <plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
  <plugin filename="gz-sim-lock-step-system" name="gz::sim::systems::LockStep"><update_rate>0</update_rate></plugin>
  <light name="sun" type="directional"><diffuse>1 1 1 1</diffuse><direction>0 0 -1</direction></light>
  <model name="ball"><pose>0 0 5 0 0 0</pose><link name="link">
    <collision name="c"><geometry><sphere><radius>0.5</radius></sphere></geometry></collision>
    <visual name="v"><geometry><sphere><radius>0.5</radius></sphere></geometry><material><diffuse>1 0 0 1</diffuse></material></visual></link></model>
  <model name="eye"><static>true</static><pose>-4 0 5 0 0 0</pose><link name="link">
    <sensor name="s" type="camera"><update_rate>50</update_rate><camera><horizontal_fov>1.5</horizontal_fov>
      <image><width>40</width><height>30</height></image><clip><near>0.1</near><far>100</far></clip></camera></sensor></link></model>
</world></sdf>
`

const seenRuntime = `<runtime_config><plugins><plugin entity_name="*" entity_type="world" filename="gz-sim-sensors-system" name="gz::sim::systems::Sensors">
  <background_color>0 0 1</background_color></plugin></plugins></runtime_config>
`

// A camera makes the same pictures, wherever its system runs, and falls behind nothing: the ball falls out of its sight.
func TestWorldRunCamera(t *testing.T) {
	s := newStage(t)
	s.file("seen.sdf", seenWorld)
	e := s.metasim("world", "run", "seen.sdf", "--iterations", "40")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, "seen.sdf:4: gz::sim::systems::LockStep names no plugin; write the <plugin> that it stands for inside it")
	require.Contains(t, e.err, "seen_runtime.config")
	s.file("seen_runtime.config", seenRuntime)
	var first map[string]string
	for _, where := range []string{"in-process", "mem", "unix"} {
		e := s.metasim("world", "run", "seen.sdf", "--iterations", "40", "--runtimes", where, "--camera", where, "--json")
		require.Zero(t, e.status, e.err+e.out)
		pictures := map[string]string{}
		files, err := filepath.Glob(filepath.Join(s.dir, where, "*.png"))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			pictures[filepath.Base(f)] = string(text)
		}
		require.Len(t, pictures, 11, "at the first step, and each 20 ms until 200 ms")
		if first == nil {
			first = pictures
			require.NotEqual(t, first["world_seen_model_eye_link_link_sensor_s_image-00000.png"], first["world_seen_model_eye_link_link_sensor_s_image-00010.png"])
		}
		require.Equal(t, first, pictures, where)
	}
	e = s.metasim("world", "run", "seen.sdf", "--iterations", "40", "--camera", "moving", "--animation")
	require.Zero(t, e.status, e.err)
	apng := s.read("moving/world_seen_model_eye_link_link_sensor_s_image.apng")
	still, err := png.Decode(bytes.NewReader(apng))
	require.NoError(t, err, "any program shows the first picture")
	require.Equal(t, image.Pt(40, 30), still.Bounds().Size())
	require.Equal(t, 11, bytes.Count(apng, []byte("fcTL")))
	require.Equal(t, 2, s.metasim("world", "run", "seen.sdf", "--iterations", "4", "--animation").status)
	s.file("blind.sdf", strings.Replace(seenWorld, `<plugin filename="gz-sim-lock-step-system" name="gz::sim::systems::LockStep"><update_rate>0</update_rate></plugin>`, "", 1))
	e = s.metasim("world", "run", "blind.sdf", "--iterations", "4", "--camera", "x")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, "has no system that makes pictures for --camera; add <plugin")
	s.file("windy.sdf", windy("windy"))
	e = s.metasim("world", "run", "windy.sdf", "--iterations", "4", "--camera", "x")
	require.Equal(t, 2, e.status)
	require.Contains(t, e.err, "has no camera for --camera")
}

// What is no file on a disk is refused: nobody may ever write to a pipe.
func TestWorldOfAPipe(t *testing.T) {
	s := newStage(t)
	if err := exec.Command("mkfifo", filepath.Join(s.dir, "pipe.sdf")).Run(); err != nil {
		t.Skip("SKIPPED LOUDLY: there is no mkfifo, so a world is not read from a pipe: ", err)
	}
	for _, args := range [][]string{{"check", "pipe.sdf"}, {"run", "pipe.sdf", "--iterations", "1"}, {"picture", "pipe.sdf"}} {
		e := s.metasim(append([]string{"world"}, args...)...)
		require.Equal(t, 2, e.status)
		require.Contains(t, e.err, "this is no ordinary file")
	}
}

// A runtime that a scenario starts with its configuration, as Gazebo's prototype is started, is as good as one that metasim world run starts.
func TestLockStepRuntime(t *testing.T) {
	const topic = "/world/seen/model/eye/link/link/sensor/s/image"
	s := raced(t)
	s.file("seen.sdf", seenWorld)
	s.file("seen_runtime.config", seenRuntime)
	e := s.metasim("world", "run", "seen.sdf", "--iterations", "40", "--json")
	require.Zero(t, e.status, e.err)
	var want worldOutcome
	require.NoError(t, json.Unmarshal([]byte(e.out), &want))
	scenario := func(config string) string {
		return s.file("seen.yaml", `
name: seen
clients:
  - {name: world, model: world, with: {file: seen.sdf, iterations: 40, remote: [sensors]}}
  - {name: sensors, run: [BIN, lockstep-runtime, `+config+`, --topics, `+topic+`]}
  - {name: viewer, model: sink, with: {channels: [`+topic+`]}}
`)
	}
	for _, transport := range []string{"unix", "tcp"} {
		out, e := s.run(scenario("seen_runtime.config"), "--transport", transport)
		require.Zero(t, e.status, e.err)
		require.Contains(t, string(out.Clients[2].Result), want.StateHash)
		require.Contains(t, string(out.Clients[1].Result), `"received":11`)
	}
	s.file("other.config", strings.Replace(seenRuntime, "gz::sim::systems::Sensors", "metasim::systems::Odometer", 1))
	s.file("none.config", "<runtime_config><plugins/></runtime_config>")
	for config, want := range map[string]string{
		"other.config": "the world asks for gz::sim::systems::Sensors, and the configuration of this runtime, ",
		"none.config":  "no plugin is named; add <plugins>",
		"no.config":    `there is no file "no.config" below the configuration's directory; check the path`,
	} {
		_, e := s.run(scenario(config))
		require.NotZero(t, e.status, config)
		require.Contains(t, e.err, want)
	}
	require.Equal(t, 2, s.metasim("lockstep-runtime", "seen_runtime.config", "--name", "sensors").status, "no server")
}

// What cannot be written after the run is refused before it.
func TestWorldRunLooksForPlaces(t *testing.T) {
	s := raced(t)
	s.file("seen.sdf", seenWorld)
	s.file("seen_runtime.config", seenRuntime)
	s.file("taken", "")
	for _, flag := range []string{"--camera", "--map", "--hashes"} {
		e := s.metasim("world", "run", "seen.sdf", "--iterations", "4", flag, "taken/x/y")
		require.Equal(t, 1, e.status)
		require.Contains(t, e.err, "the directory of "+flag+" cannot be made: mkdir taken")
		require.NoDirExists(t, s.dir+"/runs")
	}
}
