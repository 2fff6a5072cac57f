package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"metasim/client"
	"metasim/delay"
	"metasim/federates"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// A worldModel is a built-in model of a world: the world, a system of it in lock step, or who takes its pictures.
type worldModel struct {
	*federates.Model
	Kind, Name string
	With       map[string]any
}

func (m *worldModel) Declare(b *client.Builder) (err error) {
	open := func(path string) (io.ReadCloser, error) { return os.Open(path) }
	if m.Model, err = federates.New(m.Kind, m.With, catalog.Env{Name: m.Name, Entry: m.Name, Count: 1, Seed: 1, Open: open}); err != nil {
		return err
	}
	return m.Model.Declare(b)
}

// pictures is the topic of the camera of a benchmark's world.
const pictures = "CAMERA"

// worldAhead is how many steps a world may be ahead of its camera, in the workloads where it need not wait for it.
const worldAhead = 8

// worldText is a hundred balls that bounce at steps of 5 ms, as in Gazebo's demo of lock step, and a system in a placeholder. The camera makes a picture of
// 64 x 40 pixels at each step: about 1 ms of work.
func worldText(plugin string) string {
	var text strings.Builder
	text.WriteString(`<sdf version="1.9"><world name="balls"><physics name="5ms" type="ignored"><max_step_size>0.005</max_step_size></physics>
<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
<plugin filename="gz-sim-lock-step-system" name="gz::sim::systems::LockStep"><update_rate>0</update_rate>` + plugin + `</plugin>
<light name="sun" type="directional"><cast_shadows>true</cast_shadows><direction>-0.5 0.1 -0.9</direction></light>
<model name="eye"><static>true</static><pose>-8 0 3 0 0.3 0</pose><link name="link"><sensor name="camera" type="camera"><update_rate>200</update_rate><topic>` + pictures + `</topic>
<camera><horizontal_fov>1.2</horizontal_fov><image><width>64</width><height>40</height></image><clip><near>0.1</near><far>100</far></clip></camera></sensor></link></model>
`)
	const surface = `<surface><bounce><restitution_coefficient>1</restitution_coefficient></bounce></surface>`
	shape := func(geometry, surface string) string {
		return `<collision name="c"><geometry>` + geometry + `</geometry>` + surface + `</collision><visual name="v"><geometry>` + geometry + `</geometry></visual>`
	}
	fmt.Fprintf(&text, `<model name="ground"><static>true</static><link name="link">%s</link></model>`, shape(`<plane><normal>0 0 1</normal><size>100 100</size></plane>`, surface))
	for i := range 100 {
		fmt.Fprintf(&text, `<model name="ball%d"><pose>%d %d 1 0 0 0</pose><link name="link">%s</link></model>`, i, i%10, i/10-5,
			shape(`<sphere><radius>0.2</radius></sphere>`, surface))
	}
	return text.String() + "</world></sdf>\n"
}

// A worldSystem is what runs beside physics.
type worldSystem struct{ name, plugin, system string }

var worldSystems = []worldSystem{
	{"camera", `<plugin filename="gz-sim-sensors-system" name="gz::sim::systems::Sensors"/>`, "sensors"},
	{"wind", `<plugin filename="metasim" name="metasim::systems::Wind"><velocity>1 0 0</velocity></plugin>`, "wind"},
}

// scenario runs a world for so many steps, with its system in another client or not.
func (s worldSystem) scenario(file string, steps int, remote, behind bool) scenario {
	with := map[string]any{"file": file, "iterations": steps}
	looks := with // who makes the pictures
	c := scenario{noJournal: true}
	add := func(kind, name string, with map[string]any) {
		c.clients = append(c.clients, participant{name, &worldModel{Kind: kind, Name: name, With: with}})
	}
	add("world", "world", with)
	if behind {
		c.links = []delay.Rule{{From: s.system, To: "world", Spec: delay.Spec{Delay: delay.Constant((worldAhead + 1) * 5 * metasim.Millisecond)}}}
	}
	if remote {
		with["remote"] = []string{s.system}
		looks = map[string]any{"world": "world"}
	}
	if s.name == "camera" {
		looks["topics"] = []string{pictures}
		add("sink", "viewer", map[string]any{"channels": []string{pictures}})
	}
	if remote { // last: this one has a process of its own
		add("lockstep-runtime", s.system, looks)
	}
	return c
}

// worlds is the steps of a world in a second, with a system in its process, and in lock step with it over each transport.
func worlds() (list []workload) {
	for _, s := range worldSystems {
		row := func(where string, a placement, behind bool) workload {
			params, plugin := Params{"system": s.name, "runtimes": where}, s.plugin
			if behind {
				params["behind"] = worldAhead
				plugin += fmt.Sprintf("<metasim:behind>%d</metasim:behind>", worldAhead)
			}
			return workload{name: "world", params: params, unit: "steps/s", first: 50,
				measure: func(ctx context.Context, h *harness, amount int) (got sample, err error) {
					dir, err := os.MkdirTemp("", "metasim-bench-")
					if err != nil {
						return got, err
					}
					defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
					file := filepath.Join(dir, "balls.sdf")
					if err := os.WriteFile(file, []byte(worldText(plugin)), 0o600); err != nil {
						return got, err
					}
					return a.measure(func(n int) scenario { return s.scenario(file, n, where != "in-process", behind) }, times(1))(ctx, h, amount)
				}}
		}
		within := row("in-process", placement{transport: "mem"}, false)
		list = append(list, within)
		inside, transports := 1, []string{"mem", "shm", "unix"}
		if s.name == "camera" {
			inside, transports = 2, append(transports, "tcp", "quic")
		}
		for _, transport := range transports {
			a := placement{transport: transport}
			if transport != "mem" {
				a.inside, a.processes = inside, 1
			}
			w := row(transport, a, false)
			w.floor = within.id()
			list = append(list, w)
			if s.name == "camera" && (transport == "shm" || transport == "unix") { // the wind writes
				w := row(transport, a, true)
				w.floor = within.id()
				list = append(list, w)
			}
		}
	}
	return list
}
