package lockstep

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"metasim/federates/catalog"
	"metasim/federates/sdf"
)

// readWorld reads the world of an instance.
func readWorld(in *catalog.Instance) (*sdf.World, error) {
	file, err := allowed(in, catalog.Get[string](in, "file"))
	if err != nil {
		return nil, err
	}
	d, _, err := sdf.Load(file, ModelDirectories(), mayRead(in)) // who starts a run was shown its warnings
	if err != nil {
		return nil, err
	}
	name, _ := catalog.Find[string](in, "world")
	return Pick(d, file, name)
}

// allowed returns the path of a file that a client may read.
func allowed(in *catalog.Instance, file string) (string, error) {
	if in.Open == nil {
		return "", fmt.Errorf("%s: no files are open to this client", file)
	}
	f, err := in.Open(file) // says whether the client may read it
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(in.Dir, file)
	}
	return file, nil
}

// mayRead returns what says why a file may not be read that a world, a plugin or the configuration of a runtime names.
func mayRead(in *catalog.Instance) func(path string) error {
	return func(path string) error {
		dir, err1 := filepath.Abs(in.Dir)
		path, err2 := filepath.Abs(path)
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		below, err := filepath.Rel(dir, path)
		if err == nil {
			_, err = allowed(in, below)
		}
		return err
	}
}

// readConfig returns the plugin that the configuration of a runtime names; nil if the runtime has none.
func readConfig(in *catalog.Instance) (*sdf.Plugin, error) {
	file, has := catalog.Find[string](in, "config")
	if !has {
		return nil, nil
	}
	file, err := allowed(in, file)
	if err != nil {
		return nil, err
	}
	r, _, err := sdf.LoadRuntime(file) // metasim world check FILE.config shows warnings
	if err != nil {
		return nil, err
	}
	if world, system := catalog.LockStepOf(in); r.System != "" && (r.World != world || r.System != system) {
		return nil, at(r.Place, fmt.Errorf("the configuration is for the service %s/%s, and this runtime serves %s/%s; write world: %s and system: %s for it", r.World, r.System,
			world, system, r.World, r.System))
	}
	return r.Plugin, nil
}

// ModelDirectories returns where the models are that worlds include, as Gazebo has it.
func ModelDirectories() (directories []string) {
	for _, name := range []string{"SDF_PATH", "GZ_SIM_RESOURCE_PATH"} {
		directories = append(directories, filepath.SplitList(os.Getenv(name))...)
	}
	return directories
}

// Pick returns the world of a name; for no name the only one.
func Pick(d *sdf.Document, file, name string) (*sdf.World, error) {
	var names []string
	for _, w := range d.Worlds {
		if w.Name == name || name == "" && len(d.Worlds) == 1 {
			return w, nil
		}
		names = append(names, w.Name)
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no world; name a file with a <world>", file)
	case name == "":
		return nil, fmt.Errorf("%s has %d worlds; say which with world: one of %s", file, len(names), strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s has no world %s; it has %s", file, name, strings.Join(names, ", "))
}
