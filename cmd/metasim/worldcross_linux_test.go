package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/record"
	"metasim/run"
)

var killSteps = flag.Int("kill-steps", 400, "how many steps the runs of TestOneOfEachIsKilled have; with 10000, which the acceptance test of distributed worlds wants, it takes every transport, for 16 minutes or more")

var killTransports = flag.String("kill-transports", "", "over which transports, with commas, TestOneOfEachIsKilled kills; by default those that -kill-steps implies")

// watchedRolling is the file of the world whose balls roll over five levels, with four systems in placeholders: a breeze, a counter, one that makes balls and takes them away, and one that makes
// the pictures of a camera. Each level has a model of its own, and shares one with the others.
func watchedRolling() string {
	text := rollingOver(16, 5)
	systems := `<model name="shared"><static>true</static><pose>0 -30 0 0 0 0</pose><link name="l"/></model>`
	for i := range 5 {
		systems += fmt.Sprintf(`<model name="tile%d"><static>true</static><pose>0 %d 0 0 0 0</pose><link name="l"/></model>`, i, -20-i)
		text = strings.Replace(text, "</buffer></level>", fmt.Sprintf("</buffer><ref>tile%d</ref><ref>shared</ref></level>", i), 1)
	}
	for _, plugin := range []string{
		`name="metasim::systems::Wind"><velocity>0 0.2 0</velocity><drag>0.0005</drag>`, `name="metasim::systems::Odometer">`,
		`name="metasim::systems::Spawner"><position>-3 2 3</position><velocity>2 0.5 0</velocity><period>120</period><life>90</life>`, `name="gz::sim::systems::Sensors">`,
	} {
		systems += `<plugin filename="l" name="gz::sim::systems::LockStep"><update_rate>0</update_rate><plugin filename="s" ` + plugin + `</plugin></plugin>`
	}
	systems += `<model name="eye"><static>true</static><pose>-10 -9 5 0 0 0.8</pose><link name="link"><sensor name="s" type="camera"><update_rate>4</update_rate><topic>eye</topic><camera><horizontal_fov>1.5</horizontal_fov>
<image><width>40</width><height>30</height></image><clip><near>0.1</near><far>100</far></clip></camera></sensor></link></model>`
	text = strings.ReplaceAll(text, "</collision></link>", `</collision><visual name="v"><geometry><sphere><radius>0.5</radius></sphere></geometry></visual></link>`)
	return strings.Replace(text, `<plugin filename="dummy"`, systems+`<plugin filename="dummy"`, 1)
}

// A workshare says which clients have a part of the work of that world.
type workshare struct {
	name                string
	secondaries, remote []string
}

// workshares are the ways in which it is done: alone in one client, on secondaries, with its systems in runtimes, and both.
func workshares() []workshare {
	secondaries, remote := []string{"a", "b", "c"}, []string{"wind", "odometer", "spawner", "sensors"}
	return []workshare{{"alone", []string{}, []string{}}, {"secondaries", secondaries, []string{}}, {"runtimes", []string{}, remote}, {"both", secondaries, remote}}
}

// kinds are clients of which one is of each kind: a secondary, the runtime of a system, the one that makes the pictures of the camera, the world itself, and who hears of states and pictures.
func (w *workshare) kinds() (names []string) {
	if len(w.secondaries) > 0 {
		names = append(names, w.secondaries[1])
	}
	if len(w.remote) > 0 {
		names = append(names, "spawner", "sensors")
	}
	return append(names, "world", "heard")
}

// scenario runs the world so divided. Who dies is replaced.
func (w *workshare) scenario(steps int) (string, error) {
	with := map[string]any{"file": "seen.sdf", "iterations": steps, "policy": "gz", "hashes": true, "remote": w.remote}
	client := func(name, model string, with map[string]any) map[string]any {
		return map[string]any{"name": name, "model": model, "with": with, "on_exit": "restart"}
	}
	clients := []map[string]any{client("world", "world", with)}
	for _, name := range w.secondaries {
		c := client(name, "world-secondary", map[string]any{})
		c["checkpoint"] = "100ms"
		clients = append(clients, c)
	}
	viewer := with
	for _, name := range w.remote {
		c := client(name, "lockstep-runtime", map[string]any{})
		if clients = append(clients, c); name == "sensors" {
			viewer = c["with"].(map[string]any)
		}
	}
	if viewer["topics"] = []string{"eye"}; len(w.secondaries) > 0 {
		with["secondaries"], with["run_ahead"] = w.secondaries, "20ms"
	}
	clients = append(clients, client("heard", "sink", map[string]any{"channels": []string{"world/hash", "eye"}}))
	text, err := json.Marshal(map[string]any{"name": w.name, "clients": clients})
	return string(text), err
}

// heard returns what the sink of a run was told, in order: the state after each step, and each picture.
func (s *stage) heard(dir string) (states, pictures []string) {
	log, err := record.ReadLog(filepath.Join(s.dir, dir))
	require.NoError(s, err)
	for i := range log.Messages {
		switch m := &log.Messages[i]; {
		case m.To != "heard":
		case m.Channel == "eye":
			pictures = append(pictures, string(m.Payload))
		default:
			states = append(states, string(m.Payload))
		}
	}
	return states, pictures
}

// outcomeOf reads what a run has printed.
func (s *stage) outcomeOf(e ending) (o outcome) {
	require.Zero(s, e.status, e.err)
	e.object(s.T, &o)
	return o
}

// killedOnTheWay does a run over a transport in which processes are killed, one after another. All of them are replaced.
func (s *stage) killedOnTheWay(file, transport, quiet string, names []string) outcome {
	p := s.start(nil, "run", file, "--json", "--transport", transport, "--out", transport)
	for k, name := range names {
		p.written(transport, float64(k+1)/float64(2*len(names)), quiet)
		pid := p.processOf(name, 0)
		if pid == 0 {
			s.Fatalf("the run was over before %s was killed: %s", name, p.wait().err)
		}
		require.NoError(s, syscall.Kill(pid, syscall.SIGKILL))
	}
	o := s.outcomeOf(p.wait())
	for _, c := range o.Clients {
		want := 0
		if slices.Contains(names, c.Name) {
			want = 1
		}
		assert.Equal(s, want, c.Restarts, "restarts of %s over %s", c.Name, transport)
	}
	return o
}

// One world, alone, on secondaries, with its systems in runtimes, and both, over transports, has one state after each step and one picture of each instant, though a process of each kind is killed
// on the way: a secondary, a runtime, the one that makes pictures, the world and who listens. What each client sent and was sent is what it was where nobody died.
func TestOneOfEachIsKilled(t *testing.T) {
	s := newStage(t)
	if len(below(1)) == 0 {
		t.Skip("SKIPPED LOUDLY: this kernel does not list the children of a process (/proc/1/task/1/children), so nobody was killed")
	}
	s.patience = max(patience, time.Duration(*killSteps)*100*time.Millisecond)
	s.file("seen.sdf", watchedRolling())
	transports := []string{"unix", "quic"}
	if *killSteps >= 10000 {
		transports = run.Transports[1:]
	}
	if *killTransports != "" {
		transports = strings.Split(*killTransports, ",")
	}
	var states, pictures []string
	for _, w := range workshares() {
		file := w.name + ".yaml"
		text, err := w.scenario(*killSteps)
		require.NoError(t, err)
		s.file(file, text)
		quiet := s.outcomeOf(s.metasim("run", file, "--json", "--transport", "mem", "--out", w.name))
		gotStates, gotPictures := s.heard(w.name)
		if w.name == "alone" {
			states, pictures = gotStates, gotPictures
			require.Len(t, states, *killSteps)
			require.NotEmpty(t, pictures)
		}
		require.Equal(t, states, gotStates, w.name)
		require.Equal(t, pictures, gotPictures, w.name)
		if w.name != "both" && *killSteps < 10000 {
			continue
		}
		for _, transport := range transports {
			begun := time.Now()
			o := s.killedOnTheWay(file, transport, w.name, w.kinds())
			assert.Equal(t, quiet.Digest, o.Digest, "%s over %s", w.name, transport)
			assert.Equal(t, quiet.SendsDigest, o.SendsDigest, "%s over %s", w.name, transport)
			require.NoError(t, os.RemoveAll(filepath.Join(s.dir, transport)))
			t.Logf("%s over %s, with %v killed: the same, in %v", w.name, transport, w.kinds(), time.Since(begun).Round(time.Second))
		}
	}
}
