package sdf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"metasim/federates/spatial"
	"metasim/internal/problem"
	"metasim/metasim"
)

const worldsDir = "testdata/worlds"

// loaded loads a file that has no errors and no warnings.
func loaded(t *testing.T, file string, directories ...string) *Document {
	t.Helper()
	d, warnings, err := Load(file, directories, nil)
	require.NoError(t, err)
	require.Empty(t, warnings)
	return d
}

// written loads text as a file.
func written(t *testing.T, text string) (*Document, []problem.Problem, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "w.sdf")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return Load(file, nil, nil)
}

// All worlds that Gazebo ships for levels, performers and lock step are read, two of which have "--" in comments.
func TestWorldsOfGazebo(t *testing.T) {
	files, err := filepath.Glob(worldsDir + "/*.sdf")
	require.NoError(t, err)
	require.Len(t, files, 17)
	for _, file := range files {
		d := loaded(t, file)
		require.Equal(t, 1, len(d.Worlds)+len(d.Models), file)
	}
}

func TestLockStepWorld(t *testing.T) {
	w := loaded(t, worldsDir+"/lock_step.sdf").Worlds[0]
	assert.Equal(t, Place{worldsDir + "/lock_step.sdf", 6, 3}, w.Place)
	assert.Equal(t, "lock_step", w.Name)
	assert.Equal(t, Physics{Place: Place{w.Place.File, 8, 5}, Name: "5ms", Type: "ignored", Step: 5e6, RealTimeFactor: 1}, w.Physics)
	assert.Equal(t, spatial.Vector{Z: -9.8}, w.Gravity)
	require.Len(t, w.Models, 102)
	assert.Equal(t, []string{"ground_plane", "camera1", "ball001", "ball100"}, []string{w.Models[0].Name, w.Models[1].Name, w.Models[2].Name, w.Models[101].Name})

	ground := w.Models[0]
	assert.True(t, ground.Static)
	assert.Equal(t, 1.0, ground.Links[0].Collisions[0].Surface.Restitution)
	assert.Equal(t, Geometry{Place: Place{w.Place.File, 71, 13}, Shape: Plane, Size: spatial.Vector{X: 100, Y: 100}, Normal: spatial.Vector{Z: 1}},
		ground.Links[0].Visuals[0].Geometry)

	ball := w.Models[101]
	assert.Equal(t, spatial.Vector{X: 4.5, Y: 4.5, Z: 1}, ball.Pose.Position)
	assert.Equal(t, 612, ball.Place.Line, "the line of its include")
	link := ball.Links[0]
	assert.Equal(t, worldsDir+"/bouncing_ball_model.sdf", link.Place.File)
	assert.Equal(t, Inertial{Mass: 1, Pose: spatial.Identity, IXX: 1, IYY: 1, IZZ: 1}, link.Inertial)
	assert.Equal(t, Sphere, link.Collisions[0].Geometry.Shape)
	assert.Equal(t, 0.2, link.Collisions[0].Geometry.Radius)
	assert.Equal(t, Color{0, 0, 0.3, 1}, link.Visuals[0].Material.Diffuse)

	sensor := w.Models[1].Links[0].Sensors[0]
	assert.Equal(t, []any{"basler", "camera", 10.0, "/test/camera1"}, []any{sensor.Name, sensor.Type, sensor.UpdateRate, sensor.Topic})
	c := sensor.Camera
	assert.Equal(t, []any{1936, 1216, 1.20373566, 0.02, 300.0, "R8G8B8", "gaussian", 0.007},
		[]any{c.Width, c.Height, c.HorizontalFOV, c.Near, c.Far, c.Format, c.NoiseType, c.NoiseStddev})

	lockStep := w.Plugins[3]
	assert.Equal(t, []string{"gz-sim-lock-step-system", "gz::sim::systems::LockStep"}, []string{lockStep.Filename, lockStep.Name})
	assert.Equal(t, "<update_rate>0</update_rate>", strings.TrimSpace(lockStep.Raw))
	assert.Equal(t, []string{"update_rate", "0"}, []string{lockStep.Content[0].Name, lockStep.Content[0].Text})

	sun := w.Lights[0]
	assert.Equal(t, "directional", sun.Type)
	assert.InDelta(t, 1, sun.Direction.Length(), 1e-15)
	assert.Less(t, sun.Direction.Z, -0.8)
}

// Levels and performers are kept as they stand, with their lines.
func TestLevelsAreKept(t *testing.T) {
	w := loaded(t, worldsDir+"/test_worlds_levels.sdf").Worlds[0]
	var p *Plugin
	for _, each := range w.Plugins {
		if each.Name == "gz::sim" {
			p = each
		}
	}
	require.NotNil(t, p)
	assert.Equal(t, []string{"performer", "performer", "level"}, []string{p.Content[0].Name, p.Content[1].Name, p.Content[2].Name})
	first := p.Content[0]
	assert.Equal(t, []Attribute{{"name", "perf_sphere"}}, first.Attributes)
	assert.Greater(t, first.Place.Line, 1000)
	assert.Equal(t, "2 2 2", first.Children[1].Children[0].Children[0].Text)
}

const modelOf = `<sdf version="1.9"><world name="w"><model name="m">%s</model></world></sdf>`

// Poses are resolved: relative to links, frames, joints, nested models, and with a placement frame.
func TestPosesAreResolved(t *testing.T) {
	d, _, err := written(t, fmt.Sprintf(modelOf, `
		<link name="a"><pose>1 0 0 0 0 1.5707963267948966</pose></link>
		<link name="b"><pose relative_to="a">1 0 0 0 0 0</pose></link>
		<frame name="f" attached_to="b"><pose>0 0 2 0 0 0</pose></frame>
		<link name="c"><pose relative_to="f">0 0 1 0 0 0</pose></link>
		<model name="n"><pose relative_to="a">0 0 5 0 0 0</pose><link name="k"><pose>0 0 1 0 0 0</pose></link></model>
		<link name="d"><pose relative_to="n::k">0 0 1 0 0 0</pose></link>
		<link name="e"><pose relative_to="j">0 0 0.5 0 0 0</pose></link>
		<joint name="j" type="fixed"><parent>a</parent><child>c</child><pose>0 1 0 0 0 0</pose></joint>`))
	require.NoError(t, err)
	got := map[string]spatial.Vector{}
	for _, l := range d.Worlds[0].Models[0].Links {
		got[l.Name] = l.Pose.Position
	}
	for name, want := range map[string]spatial.Vector{"a": {X: 1}, "b": {X: 1, Y: 1}, "c": {X: 1, Y: 1, Z: 3}, "d": {X: 1, Z: 7}, "e": {X: 0, Y: 1, Z: 3.5}} {
		assert.InDelta(t, 0, got[name].Sub(want).Length(), 1e-12, "%s: %v", name, got[name])
	}

	d, _, err = written(t, `<sdf version="1.9"><world name="w"><model name="m" placement_frame="l"><pose>5 0 0 0 0 0</pose>
		<link name="l"><pose>1 0 0 0 0 0</pose></link></model><model name="o"><pose relative_to="m::l" degrees="true">0 1 0 0 0 90</pose><link name="l"/></model></world></sdf>`)
	require.NoError(t, err)
	assert.Equal(t, spatial.Vector{X: 4}, d.Worlds[0].Models[0].Pose.Position)
	other := d.Worlds[0].Models[1].Pose
	assert.Equal(t, spatial.Vector{X: 5, Y: 1}, other.Position)
	assert.InDelta(t, 0, other.Rotation.Rotate(spatial.Vector{X: 1}).Sub(spatial.Vector{Y: 1}).Length(), 1e-15)
}

// Everything that is wrong is said at once, in the order of the file, with what to write instead.
func TestErrorsSayWhereAndWhatInstead(t *testing.T) {
	_, warnings, err := written(t, `<?xml version="1.0"?>
<!-- a -- b -->
<sdf version="1.9">
  <world name="w">
    <gravty>0 0 1</gravty>
    <physics type="ode"><max_step_size>fast</max_step_size></physics>
    <model name="m">
      <link name="a"/>
      <link name="a"/>
    </model>
    <plugin name="p" filename="f"><gz:system_priority>-5</gz:system_priority></plugin>
  </world>
</sdf>
`)
	var invalid *problem.Invalid
	require.ErrorAs(t, err, &invalid)
	say := func(list []problem.Problem) (all []string) {
		for _, p := range list {
			all = append(all, fmt.Sprintf("%s:%d:%d: %s", filepath.Base(p.File), p.Line, p.Column, p.Message))
		}
		return all
	}
	assert.Equal(t, []string{
		`w.sdf:6:25: <max_step_size> is "fast"; write a number, as in 0.5`,
		`w.sdf:9:7: <link> is called "a", as <link> of line 8 is; rename one`,
	}, say(invalid.Problems))
	assert.Equal(t, []string{`w.sdf:5:5: SDF has no <gravty> in <world>, so it is ignored; did you mean "gravity"?`}, say(warnings))
}

func TestPriorityOfPlugins(t *testing.T) {
	d, warnings, err := written(t, `<sdf version="1.9"><world name="w"><plugin name="p" filename="f"><gz:system_priority>-5</gz:system_priority></plugin></world></sdf>`)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, -5, d.Worlds[0].Plugins[0].Priority)
}

// An include may name a directory with a model.config, a file, and itself.
func TestIncludes(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	put("models/crate/model.config", `<model><sdf version="1.4">old.sdf</sdf><sdf version="1.9">new.sdf</sdf></model>`)
	put("models/crate/new.sdf", `<sdf version="1.9"><model name="crate"><static>true</static><link name="new"/></model></sdf>`)
	world := put("w.sdf", `<sdf version="1.9"><world name="w"><include><uri>model://crate</uri></include>
<include><uri>models/crate/new.sdf</uri><name>other</name><static>false</static><pose>0 0 7 0 0 0</pose><plugin name="p" filename="f"/></include></world></sdf>`)
	models := loaded(t, world, filepath.Join(dir, "models")).Worlds[0].Models
	assert.Equal(t, []any{"crate", true, "new"}, []any{models[0].Name, models[0].Static, models[0].Links[0].Name})
	assert.Equal(t, []any{"other", false, 7.0, 1}, []any{models[1].Name, models[1].Static, models[1].Pose.Position.Z, len(models[1].Plugins)})

	_, _, err := Load(world, nil, nil)
	assert.ErrorContains(t, err, `there is no model "crate"; put its directory beside this file`)

	many := put("many.sdf", `<sdf version="1.9"><world name="w"><include><uri>model://no</uri></include><include><uri>model://no</uri></include>
<include><uri>model://../../etc</uri></include></world></sdf>`)
	_, _, err = Load(many, nil, nil)
	assert.Equal(t, 1, strings.Count(err.Error(), `there is no model "no"`), "it is told once: %v", err)
	assert.ErrorContains(t, err, "model://../../etc leaves the directories of models; leave the .. out")

	self := put("self.sdf", `<sdf version="1.9"><model name="m"><link name="l"/><include><uri>self.sdf</uri><name>n</name></include></model></sdf>`)
	_, _, err = Load(self, nil, nil)
	assert.ErrorContains(t, err, "self.sdf:1:52: more than 20 files include one another; does one include itself?")
}

// A file that doubles itself at every level of includes ends with an error, and not with the memory.
func TestIncludesThatGrowAreBounded(t *testing.T) {
	dir := t.TempDir()
	const levels = 18
	for i := range levels + 1 {
		inside := `<link name="l"/>`
		if i < levels {
			for k := range 4 {
				inside += fmt.Sprintf(`<include><uri>%d.sdf</uri><name>n%d</name></include>`, i+1, k)
			}
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.sdf", i))
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `<sdf version="1.9"><model name="m">%s</model></sdf>`, inside), 0o600))
	}
	_, _, err := Load(filepath.Join(dir, "0.sdf"), nil, nil)
	assert.ErrorContains(t, err, "at most 262144 elements with all that it includes")
}

func TestLimits(t *testing.T) {
	deep := strings.Repeat("<a>", 200) + strings.Repeat("</a>", 200)
	_, _, err := written(t, `<sdf version="1.9"><world name="w"><plugin name="p" filename="f">`+deep+`</plugin></world></sdf>`)
	assert.ErrorContains(t, err, "at most 100 within one another")
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, ` a%d="1"`, i)
	}
	_, _, err = written(t, `<sdf version="1.9"><world name="w"><model name="m"`+many.String()+`/></world></sdf>`)
	assert.ErrorContains(t, err, "<model> has 301 attributes, and 256 are the limit")
	_, _, err = Load(filepath.Join(t.TempDir(), "none.sdf"), nil, nil)
	assert.ErrorContains(t, err, "none.sdf: cannot be read: no such file or directory")
	_, _, err = Load(t.TempDir(), nil, nil)
	assert.ErrorContains(t, err, "this is a directory")
	_, _, err = written(t, `<sdf version="1.9"><world name="w"><physics type="x"><max_step_size>1e300</max_step_size></physics></world></sdf>`)
	assert.NoError(t, err)
}

// A chain of frames may be long; what is included may be refused, but not what the directories of models have.
func TestLongChainsAndRefusedFiles(t *testing.T) {
	var frames strings.Builder
	for i := range 300 {
		fmt.Fprintf(&frames, `<frame name="f%d" attached_to="f%d"><pose>0 0 1 0 0 0</pose></frame>`, i, i+1)
	}
	d, _, err := written(t, fmt.Sprintf(modelOf, frames.String()+`<frame name="f300" attached_to="l"/><link name="l"/><link name="k"><pose relative_to="f0"/></link>`))
	require.NoError(t, err)
	assert.InDelta(t, 300, d.Worlds[0].Models[0].Links[1].Pose.Position.Z, 0)

	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const model, config = `<sdf version="1.9"><model name="m"><link name="l"/></model></sdf>`, `<model><sdf>%s</sdf></model>`
	put("models/crate/model.sdf", model)
	put("models/crate/model.config", fmt.Sprintf(config, "model.sdf"))
	put("secret.sdf", model)
	put("scenario/odd/model.config", fmt.Sprintf(config, "../../secret.sdf"))
	for uri, refused := range map[string]string{
		"model://crate": "", "../secret.sdf": "secret.sdf", "file://" + filepath.Join(dir, "secret.sdf"): "secret.sdf", "model://odd": "secret.sdf",
	} {
		world := put("scenario/w.sdf", `<sdf version="1.9"><world name="w"><include><uri>`+uri+`</uri></include></world></sdf>`)
		_, _, err := Load(world, []string{filepath.Join(dir, "models")}, func(path string) error {
			if strings.HasPrefix(path, filepath.Join(dir, "scenario")+"/") {
				return nil
			}
			return fmt.Errorf("%s is not yours", filepath.Base(path))
		})
		if refused == "" {
			assert.NoError(t, err, uri)
		} else {
			assert.ErrorContains(t, err, "w.sdf:1:45: "+refused+" is not yours", uri)
		}
	}
}

// Numbers that nothing can be computed with do not reach the structs.
func TestUselessNumbersAreReplaced(t *testing.T) {
	d, warnings, err := written(t, fmt.Sprintf(modelOf, `<link name="l"><collision name="c"><geometry><sphere><radius>nan</radius></sphere></geometry></collision>
		<collision name="d"><geometry><sphere><radius>-1</radius></sphere></geometry></collision>
		<sensor name="s" type="camera"><camera><image><width>99999</width><height>99999</height></image><clip><near>3</near><far>2</far></clip></camera></sensor></link>`))
	require.NoError(t, err)
	assert.Len(t, warnings, 4)
	l := d.Worlds[0].Models[0].Links[0]
	assert.Equal(t, 1.0, l.Collisions[0].Geometry.Radius)
	assert.Equal(t, Empty, l.Collisions[1].Geometry.Shape)
	assert.Equal(t, []any{320, 240, 0.1}, []any{l.Sensors[0].Camera.Width, l.Sensors[0].Camera.Height, l.Sensors[0].Camera.Near})

	d, _, err = written(t, `<sdf version="1.9"><world name="w"><physics type="x"><max_step_size>-1</max_step_size></physics></world></sdf>`)
	require.NoError(t, err)
	assert.Equal(t, metasim.Time(1e6), d.Worlds[0].Physics.Step)
}

// No file makes the reader panic, and what it takes has names and steps.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		`<sdf version="1.9"><world name="w"><model name="m"><link name="l"/></model></world></sdf>`,
		`<sdf version="1.6"><world name="w"><model name="m"><pose frame="a">1 2 3 4 5 6</pose><link name="l"><sensor name="s" type="camera"><camera/></sensor></link></model></world></sdf>`,
		`<sdf version="1.9"><world name="w"><include><uri>model://x</uri></include><frame name="f" attached_to="f"/></world></sdf>`,
		fmt.Sprintf(modelOf, `<link name="a"/><joint name="j" type="fixed"><parent>a</parent><child>j</child></joint><frame name="f"><pose relative_to="j"/></frame>`),
		fmt.Sprintf(modelOf, `<link name="l"><inertial><inertia><ixx>1e308</ixx><ixy>1e308</ixy></inertia></inertial><collision name="c"><geometry><plane><normal>0 0 0</normal></plane></geometry></collision></link>`),
		`<sdf version="1.9"><world name="w"><light name="l" type="spot"><direction>0 0 0</direction></light><plugin name="a" filename="b"><x y="&z">]]></x></plugin></world></sdf>`,
	} {
		f.Add([]byte(seed))
	}
	file := filepath.Join(f.TempDir(), "f.sdf")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(file, text, 0o600))
		d, _, err := Load(file, nil, nil)
		if err != nil {
			var invalid *problem.Invalid
			require.True(t, errors.As(err, &invalid) && len(invalid.Problems) > 0, "%v", err)
			return
		}
		for _, w := range d.Worlds {
			require.NotEmpty(t, w.Name)
			require.Positive(t, w.Physics.Step)
		}
	})
}
