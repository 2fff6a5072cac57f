package main

import (
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metasim world check says what is good, what is wrong, where, and what to write instead.
func TestWorldCheck(t *testing.T) {
	s := newStage(t)
	worlds, err := filepath.Abs("../../federates/sdf/testdata/worlds")
	require.NoError(t, err)
	good := s.metasim("world", "check", filepath.Join(worlds, "lock_step.sdf"))
	assert.Zero(t, good.status)
	assert.Contains(t, good.out, "the world lock_step is good SDF 1.11: models 102, lights 1, plugins 4, step 5ms")
	assert.Empty(t, good.err)
	runtime := s.metasim("world", "check", filepath.Join(worlds, "lock_step_runtime.config"))
	assert.Zero(t, runtime.status)
	assert.Contains(t, runtime.out, "is a good configuration of a runtime for the plugin gz::sim::systems::Sensors")

	s.file("bad.sdf", "<sdf version=\"1.9\">\n<world name=\"w\">\n<modell name=\"m\"/>\n<model name=\"m\"/>\n</world></sdf>")
	bad := s.metasim("world", "check", "bad.sdf")
	assert.Equal(t, 2, bad.status)
	assert.Contains(t, bad.err, `bad.sdf:3:1: SDF has no <modell> in <world>, so it is ignored; did you mean "model"?`)
	assert.Contains(t, bad.err, `bad.sdf:4:1: the model "m" has no <link>; add one, or make the model static`)

	asJSON := s.metasim("world", "check", "bad.sdf", "--json")
	assert.Equal(t, 2, asJSON.status)
	assert.Empty(t, asJSON.err)
	var v validation
	require.NoError(t, json.Unmarshal([]byte(asJSON.out), &v))
	assert.False(t, v.OK)
	require.Len(t, v.Errors, 2, "the model, and the name that two elements have")
	assert.Equal(t, []int{4, 4}, []int{v.Errors[0].Line, v.Errors[1].Line})
	require.Len(t, v.Warnings, 1)

	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "models", "crate"), 0o700))
	s.file("models/crate/model.sdf", `<sdf version="1.9"><model name="crate"><link name="l"/></model></sdf>`)
	s.file("models/crate/model.config", `<model><sdf>model.sdf</sdf></model>`)
	s.file("w.sdf", `<sdf version="1.9"><world name="w"><include><uri>model://crate</uri></include></world></sdf>`)
	missing := s.metasim("world", "check", "w.sdf")
	assert.Equal(t, 2, missing.status)
	assert.Contains(t, missing.err, `w.sdf:1:45: there is no model "crate"; put its directory beside this file`)
	assert.Zero(t, s.metasim("world", "check", "w.sdf", "--models", "models").status)

	s.file("w.sdf", `<sdf version="1.9"><world name="w"><plugin filename="f" name="metasim::systems::Wnid"/><model name="m"><link name="l"/><plugin filename="f" name="drive"/></model></world></sdf>`)
	unknown := s.metasim("world", "check", "w.sdf")
	assert.Zero(t, unknown.status, "Gazebo takes it")
	assert.Contains(t, unknown.err, `warning: w.sdf:1:36: the world w cannot be run: there is no system metasim::systems::Wnid; did you mean "metasim::systems::Wind"?`)
	assert.Contains(t, unknown.err, "the plugin drive stands in a model, and only plugins of the world are run")

	s.file("r.config", `<runtime_config><plugins><plugin filename="f" name="metasim::systems::Wnid"/></plugins></runtime_config>`)
	assert.Contains(t, s.metasim("world", "check", "r.config").err, `warning: r.config:1:26: it cannot be run: there is no system metasim::systems::Wnid; did you mean`)

	none := s.metasim("world", "check", "none.sdf")
	assert.Equal(t, 2, none.status)
	assert.Contains(t, none.err, "none.sdf: cannot be read: no such file or directory")
}

// Models are found where Gazebo finds them.
func TestModelsOfSDFPath(t *testing.T) {
	for _, name := range []string{"SDF_PATH", "GZ_SIM_RESOURCE_PATH"} {
		dir := t.TempDir()
		crate := filepath.Join(dir, "crate")
		require.NoError(t, os.Mkdir(crate, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(crate, "model.sdf"), []byte(`<sdf version="1.9"><model name="crate"><link name="l"/></model></sdf>`), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(crate, "model.config"), []byte(`<model><sdf>model.sdf</sdf></model>`), 0o600))
		world := filepath.Join(t.TempDir(), "w.sdf")
		require.NoError(t, os.WriteFile(world, []byte(`<sdf version="1.9"><world name="w"><include><uri>model://crate</uri></include></world></sdf>`), 0o600))
		_, _, err := new(modelFlag).load(world)
		require.ErrorContains(t, err, "SDF_PATH")
		t.Setenv(name, "/nowhere"+string(filepath.ListSeparator)+dir)
		_, _, err = new(modelFlag).load(world)
		require.NoError(t, err)
		t.Setenv(name, "")
	}
}

// metasim world picture writes a PNG for each camera, and says so.
func TestWorldPicture(t *testing.T) {
	s := newStage(t)
	s.file("w.sdf", `<sdf version="1.9"><world name="a/b"><model name="m"><link name="l"><sensor name="s" type="camera"><camera><image><width>40</width>
<height>30</height></image></camera></sensor></link></model></world></sdf>`)
	r := s.metasim("world", "picture", "w.sdf")
	assert.Zero(t, r.status)
	assert.Contains(t, r.out, "a_b-m-s.png: 40 x 30 pixels")
	f, err := os.Open(filepath.Join(s.dir, "a_b-m-s.png"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }() // it was only read
	img, err := png.Decode(f)
	require.NoError(t, err)
	assert.Equal(t, image.Pt(40, 30), img.Bounds().Size())

	s.file("none.sdf", `<sdf version="1.9"><world name="w"/></sdf>`)
	none := s.metasim("world", "picture", "none.sdf")
	assert.Equal(t, 2, none.status)
	assert.Contains(t, none.err, "none.sdf has no sensor of type camera; add one to a link")
	assert.Equal(t, 1, s.metasim("world", "picture", "w.sdf", "--out", "w.sdf").status)
	assert.Contains(t, s.metasim("world", "picture", "w.sdf", "--out", "new/dir").out, filepath.Join("new", "dir", "a_b-m-s.png"))
}
