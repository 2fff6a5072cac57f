package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A runtime that is started before its server waits for it. Its configuration says which system of which world it serves.
func TestARuntimeThatIsFirst(t *testing.T) {
	s := newStage(t)
	s.file("windy.sdf", windy("windy"))
	config := func(service, plugin string) string {
		return `<runtime_config><service>` + service + `</service><plugins><plugin entity_name="*" entity_type="world" filename="metasim" name="metasim::systems::` + plugin +
			`"><velocity>2 0 0</velocity><drag>0.5</drag></plugin></plugins></runtime_config>`
	}
	s.file("wind.config", config("earth/wind", "Wind"))
	s.file("ext.yaml", "name: ext\nclients:\n"+
		"  - {name: earth, model: world, with: {file: windy.sdf, iterations: 40, remote: [wind]}}\n  - {name: blower, external: true}\n")
	e := s.metasim("world", "run", "windy.sdf", "--iterations", "40", "--runtimes", "in-process", "--json")
	require.Zero(t, e.status, e.err)
	var want worldOutcome
	require.NoError(t, json.Unmarshal([]byte(e.out), &want))
	socket := filepath.Join(s.temp, "s")
	runtime := s.start([]string{"METASIM_TOKEN=sesame"}, "lockstep-runtime", "wind.config", "--server", "unix://"+socket, "--name", "blower", "--wait", "1h")
	require.Eventually(t, func() bool { return strings.Contains(runtime.err.String(), "yet; waiting for at most 1h0m0s") }, patience/2, 1e6)
	out, e := s.run("ext.yaml", "--listen", socket, "--token", "sesame")
	require.Zero(t, e.status, e.err)
	require.Zero(t, runtime.wait().status)
	require.Contains(t, string(out.Clients[1].Result), want.StateHash)

	s.file("unknown.config", config("earth/wind", "Wnid"))
	s.file("bad.config", config("earth", "Wind"))
	for config, want := range map[string]string{
		"none.config":    "there is no file",
		"bad.config":     `bad.config:1:17: <service> is "earth"; write the client of the world and the system, as in world/sensors`,
		"unknown.config": `unknown.config:1: there is no system metasim::systems::Wnid; did you mean "metasim::systems::Wind"?`,
	} {
		s.file("wrong.yaml", "name: wrong\nclients:\n"+
			"  - {name: earth, model: world, with: {file: windy.sdf, iterations: 40, remote: [wind]}}\n  - {name: blower, run: [BIN, lockstep-runtime, "+config+"]}\n")
		_, e := s.run("wrong.yaml")
		require.NotZero(t, e.status, config)
		require.Contains(t, e.err, want)
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.temp, "elsewhere.config"), s.read("wind.config"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(s.temp, "elsewhere.config"), filepath.Join(s.dir, "link.config")))
	linked := "name: linked\nclients:\n" +
		"  - {name: earth, model: world, with: {file: windy.sdf, iterations: 40, remote: [wind]}}\n  - {name: blower, run: [BIN, lockstep-runtime, link.config]}\n"
	s.file("linked.yaml", linked)
	_, e = s.run("linked.yaml")
	require.NotZero(t, e.status, "the configuration is outside of its directory")
	require.Contains(t, e.err, "link.config")
	s.file("allowed.yaml", strings.Replace(linked, "link.config", "link.config, --allow-outside", 1))
	_, e = s.run("allowed.yaml")
	require.Zero(t, e.status, e.err)
	s.file("other.yaml", "name: other\nclients:\n"+
		"  - {name: earth, model: world, with: {file: windy.sdf, iterations: 40, remote: [wind]}}\n"+
		"  - {name: blower, model: lockstep-runtime, with: {config: wind.config, world: earth, system: gusts}}\n")
	_, e = s.run("other.yaml")
	require.Contains(t, e.err, "wind.config:1: the configuration is for the service earth/wind, and this runtime serves earth/gusts; write world: earth and system: wind for it")
}

// gust is a system in Python that remembers how often it was called, and whose process is killed or stopped once, in the middle of a step.
const gust = `
import os, signal, sys
import wind

once = {"dies": signal.SIGKILL, "stops": signal.SIGSTOP}.get(sys.argv[1])

class Gust(wind.Wind):
    calls = 0
    def forces(self, state):
        self.calls += 1
        if self.calls == 30 and once and not os.path.exists("died"):
            open("died", "w").close()
            os.kill(os.getpid(), once)
        self.drag = self.calls % 7 / 10
        return super().forces(state)

wind.Wind = Gust
wind.main("world", "wind")
`

// gusts is a stage with a world and its wind. The scenario of a name has a wind that lives, dies or stops; more is what its client has besides.
func gusts(t *testing.T) (s *stage, scenario func(name, argument, degrade, more string) string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no python3, so no runtime was killed or stopped")
	}
	library, err := filepath.Abs("../../clients/python")
	require.NoError(t, err)
	s = newStage(t)
	s.file("windy.sdf", windy("windy"))
	s.file("gust.py", gust)
	scenario = func(name, argument, degrade, more string) string {
		return s.file(name+".yaml", "name: "+name+"\nclients:\n"+
			"  - {name: world, model: world, with: {file: windy.sdf, iterations: 60, remote: [wind, odometer], degrade: ["+degrade+"]}}\n"+
			"  - {name: odometer, model: lockstep-runtime}\n"+
			`  - {name: wind, run: ["`+python+`", -B, gust.py, `+argument+`], env: ["PYTHONPATH=`+library+":"+filepath.Join(library, "examples")+`"], `+more+`}`)
	}
	return s, scenario
}

// A runtime whose process is killed in the middle of a step is started again, is given again what it was given, and goes on: the states are those of a run in
// which nobody died, though the system has a state of its own.
func TestARuntimeThatIsKilled(t *testing.T) {
	s, scenario := gusts(t)
	whole, e := s.run(scenario("whole", "lives", "", "on_exit: fail"))
	require.Zero(t, e.status, e.err)
	again, e := s.run(scenario("again", "dies", "", "on_exit: restart"))
	require.Zero(t, e.status, e.err)
	require.FileExists(t, filepath.Join(s.dir, "died"))
	require.Equal(t, string(whole.Clients[2].Result), string(again.Clients[2].Result), "the last state, of the world")
	require.Contains(t, string(whole.Clients[2].Result), "state_hash")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "died")))
	_, e = s.run(scenario("fails", "dies", "", "on_exit: fail"))
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, `client "wind" was lost`)

	require.NoError(t, os.Remove(filepath.Join(s.dir, "died")))
	without, e := s.run(scenario("degrades", "dies", "wind", "on_exit: detach"))
	require.Zero(t, e.status, e.err)
	require.False(t, without.Deterministic)
	require.Contains(t, string(without.Clients[2].Result), `"degraded":[{"system":"wind",`)
	require.Contains(t, s.metasim("report", without.RunDir).out, "client wind was lost at ")
	require.Zero(t, s.metasim("replay", without.RunDir).status)
	require.Zero(t, s.metasim("replay", without.RunDir, "--client", "world").status)
}

// A runtime whose process is stopped in the middle of a step says nothing, and does not die. Its hang_timeout ends it: then another one takes its place, with
// the same states, or the world goes on without it.
func TestARuntimeThatStandsStill(t *testing.T) {
	s, scenario := gusts(t)
	whole, e := s.run(scenario("whole", "lives", "", "on_exit: fail"))
	require.Zero(t, e.status, e.err)
	again, e := s.run(scenario("again", "stops", "", "on_exit: restart, hang_timeout: 2s"))
	require.Zero(t, e.status, e.err)
	require.FileExists(t, filepath.Join(s.dir, "died"))
	require.Equal(t, string(whole.Clients[2].Result), string(again.Clients[2].Result), "the last state, of the world")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "died")))
	without, e := s.run(scenario("without", "stops", "wind", "on_exit: detach, hang_timeout: 2s"))
	require.Zero(t, e.status, e.err)
	require.Contains(t, e.err, "a client computes for too long and says nothing; its process is ended")
	require.Contains(t, string(without.Clients[2].Result), `"degraded":[{"system":"wind",`)
	require.NoError(t, os.Remove(filepath.Join(s.dir, "died")))
	_, e = s.run(scenario("ends", "stops", "", "hang_timeout: 2s"))
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, `client "wind" was lost (it was ended, as it computed for 2s, its hang_timeout, and said nothing: `)
}
