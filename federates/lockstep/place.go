package lockstep

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"metasim/federates/sdf"
	"metasim/federates/systems"
	"metasim/federates/wasm"
	"metasim/federates/world"
	"metasim/metasim"
)

// placeholder is the plugin that stands in a world for a system in another process: Gazebo's name for it.
const placeholder = "gz::sim::systems::LockStep"

// defaultRate is that of a placeholder that says none, as Gazebo has it.
const defaultRate = 60

// physicsPriority is that of physics where the file says none, as Gazebo has it: it moves bodies before others look at them.
const physicsPriority = -64

// readers are the phases of systems that may be behind the world.
const readers = 1<<world.Configure | 1<<world.PostUpdate | 1<<world.Reset

// maxBehind bounds how many steps the world may be ahead: each call waits in the memory of the run.
const maxBehind = 1000

// A Placed is a system of a world, before it runs.
type Placed struct {
	*world.Slot
	LockStep bool   // it stands inside a placeholder
	module   string // the SHA-256 of its WebAssembly module; empty: it is none
}

// systemsOf returns the systems that a world asks for, in the order of its file. Each has a name: the last word of its plugin's, in
// small letters, and a number if an earlier one has it. Remote names those that run in other clients, which may have systems of their own. May says why a
// file that the world names may not be read.
func systemsOf(w *sdf.World, remote []string, may func(path string) error) ([]Placed, error) {
	var all []Placed
	for _, plugin := range w.Plugins {
		placed := Placed{Slot: &world.Slot{Plugin: plugin, Priority: plugin.Priority}}
		if placed.LockStep = plugin.Name == placeholder; placed.LockStep {
			if err := readPlaceholder(placed.Slot, plugin, may); err != nil {
				return nil, at(plugin.Place, err)
			}
		}
		system, err := newSystem(placed.Plugin, may)
		own := errors.As(err, new(*systems.UnknownError)) && slices.Contains(remote, nameFor(placed.Plugin.Name, all))
		if err != nil && !own {
			if placed.LockStep && errors.As(err, new(*systems.UnknownError)) {
				err = fmt.Errorf("%w; if it is a program of your own, start that in a scenario whose world has remote: [%s]", err, nameFor(placed.Plugin.Name, all))
			}
			return nil, at(placed.Plugin.Place, err)
		}
		if system == nil && !own {
			continue
		}
		placed.System, placed.module = system, moduleOf(system)
		if placed.Behind > 0 {
			if placed.Reads = 1 << world.PostUpdate; !own { // of its own system a runtime says the phases
				placed.Reads = world.PhasesOf(system)
			}
			if placed.Reads&^readers != 0 || placed.Reads&(1<<world.PostUpdate) == 0 {
				return nil, at(plugin.Place, fmt.Errorf("<metasim:behind> is for systems that only read, in PostUpdate, and %s takes part in %s; take it out",
					placed.Plugin.Name, world.PhasesText(placed.Reads)))
			}
		}
		named := placed.Plugin
		placed.Anew = func() (any, error) {
			return anew(system, func() (any, error) { return newSystem(named, may) })
		}
		if _, moves := system.(world.Physics); moves && placed.Priority == 0 {
			placed.Priority = physicsPriority
		}
		placed.Name = nameFor(placed.Plugin.Name, all)
		all = append(all, placed)
	}
	return all, nil
}

// newSystem makes the system that a plugin names: one that is here, or a WebAssembly module; nil for one that has nothing to do here.
func newSystem(p *sdf.Plugin, may func(path string) error) (any, error) {
	if wasm.Is(p) {
		return wasm.New(p, may)
	}
	return systems.New(p.Name)
}

// moduleOf returns the SHA-256 of a WebAssembly module; empty for a system that is none.
func moduleOf(system any) string {
	if m, module := system.(*wasm.System); module {
		sum := m.Sum()
		return hex.EncodeToString(sum[:])
	}
	return ""
}

// anew returns a system for a world that begins again. A module is not read again: its file may be another one by now, and Configure makes another instance.
func anew(system any, made func() (any, error)) (any, error) {
	if _, module := system.(*wasm.System); module {
		return system, nil
	}
	return made()
}

// Travel returns how long the replies of a system travel: no time, but for one that may be behind the world.
func (p Placed) Travel(w *sdf.World) metasim.Time {
	if p.Behind == 0 {
		return 0
	}
	return travel(p.Behind, w.Physics.Step)
}

// CameraTopics returns the topics of the cameras of a world, in the order of its file.
func CameraTopics(w *sdf.World) []string { return world.CameraTopics(w) }

// Sees reports whether the system makes the pictures of cameras.
func (p Placed) Sees() bool { return systems.Sees(p.System) }

// Check returns the systems of a world, or says why it cannot be run. It is for the user's own command, which may read what the user may.
func Check(w *sdf.World) ([]Placed, error) {
	placed, err := systemsOf(w, nil, func(string) error { return nil })
	if err == nil {
		_, err = world.New(configOf(w, placed))
	}
	return placed, err
}

func configOf(w *sdf.World, placed []Placed) world.Config {
	c := world.Config{World: w}
	for _, p := range placed {
		c.Slots = append(c.Slots, p.Slot)
	}
	return c
}

// A PlaceError says what is wrong at a place of a file.
type PlaceError struct {
	Place sdf.Place
	Err   error
}

func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s:%d: %v", e.Place.File, e.Place.Line, e.Err)
}
func (e *PlaceError) Unwrap() error { return e.Err }

func at(p sdf.Place, err error) error { return &PlaceError{p, err} }

func nameFor(plugin string, taken []Placed) string {
	name := strings.ToLower(plugin[strings.LastIndex(plugin, ":")+1:])
	free := func(name string) bool {
		return !slices.ContainsFunc(taken, func(p Placed) bool { return p.Name == name })
	}
	for n, base := 2, name; !free(name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// readPlaceholder reads what a placeholder says: the plugin that it stands for, and how often that is called.
func readPlaceholder(slot *world.Slot, p *sdf.Plugin, may func(path string) error) error {
	slot.Rate = defaultRate
	slot.Plugin = nil
	for _, e := range p.Content {
		switch e.Name {
		case "update_rate":
			rate, err := strconv.ParseFloat(e.Text, 64)
			if err != nil || !(rate == 0 || rate >= 1e-6 && rate <= 1e9) {
				return fmt.Errorf("<update_rate> is %q; write calls in a second, such as 60, or 0 for every step", e.Text)
			}
			slot.Rate = rate
		case "update_law":
			if e.Text != "exact" && e.Text != "gazebo" {
				return fmt.Errorf("<update_law> is %q; write gazebo or exact", e.Text)
			}
			slot.Exact = e.Text == "exact"
		case "metasim:behind":
			n, err := strconv.Atoi(e.Text)
			if err != nil || n < 0 || n > maxBehind {
				return fmt.Errorf("<metasim:behind> is %q; write how many steps the world may be ahead, from 1 to %d, or 0 for none", e.Text, maxBehind)
			}
			slot.Behind = n
		case "plugin":
			if slot.Plugin != nil {
				return fmt.Errorf("it names two plugins; write a placeholder for each")
			}
			slot.Plugin = pluginOf(e)
		}
	}
	if slot.Plugin == nil {
		return configuredBy(slot, p, may)
	}
	if slot.Plugin.Name == placeholder {
		return fmt.Errorf("%s stands for another one; write the <plugin> that is to run inside it", placeholder)
	}
	return nil
}

// configuredBy takes the plugin of a placeholder that names none from the configuration of its runtime, beside the world: Gazebo's prototype starts a runtime
// with it by hand.
func configuredBy(slot *world.Slot, p *sdf.Plugin, may func(path string) error) error {
	file := strings.TrimSuffix(p.Place.File, filepath.Ext(p.Place.File)) + "_runtime.config"
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s names no plugin; write the <plugin> that it stands for inside it, or into the configuration of a runtime, %s", placeholder, filepath.Base(file))
	}
	if err := may(file); err != nil { // it may be a symbolic link
		return err
	}
	r, _, err := sdf.LoadRuntime(file) // metasim world check FILE.config shows warnings
	if err != nil {
		return err
	}
	slot.Plugin = r.Plugin
	return nil
}

func pluginOf(e *sdf.Element) *sdf.Plugin {
	p := &sdf.Plugin{Place: e.Place, Content: e.Children}
	p.Name, _ = e.Attribute("name")
	p.Filename, _ = e.Attribute("filename")
	return p
}
