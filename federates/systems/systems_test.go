package systems

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

func plugin(name string, content ...*sdf.Element) *sdf.Plugin {
	return &sdf.Plugin{Name: name, Content: content}
}

func element(name, text string) *sdf.Element {
	return &sdf.Element{Name: name, Text: text, Place: sdf.Place{File: "w.sdf", Line: 4}}
}

// A looker sees how fast the ball is, and how far it went.
type looker struct{ speed, way float64 }

func (l *looker) PostUpdate(_ world.Info, v *ecm.View) error {
	for e, name := range v.With(world.Name) {
		if string(name) != "ball" {
			continue
		}
		if b, found := v.Get(e, world.Velocity); found {
			speed, _ := world.PairOf(b)
			l.speed = speed.X
		}
		if b, found := v.Get(e, "odometer"); found {
			l.way = world.NumberOf(b)
		}
	}
	return nil
}

// serve makes a world of one ball that floats, with these systems.
func serve(t *testing.T, look *looker, plugins ...*sdf.Plugin) (*world.Server, error) {
	t.Helper()
	w := &sdf.World{Name: "w", Physics: sdf.Physics{Step: 10 * metasim.Millisecond}, Models: []*sdf.Model{{Name: "ball", Pose: spatial.Identity,
		Links: []*sdf.Link{{Name: "l", Pose: spatial.Identity, Inertial: sdf.Inertial{Mass: 1, Pose: spatial.Identity, IXX: 1, IYY: 1, IZZ: 1}}}}}}
	c := world.Config{World: w}
	for _, p := range append(plugins, plugin("ignition::gazebo::systems::Physics")) {
		system, err := New(p.Name)
		require.NoError(t, err)
		c.Slots = append(c.Slots, &world.Slot{Name: p.Name, Plugin: p, System: system})
	}
	c.Slots = append(c.Slots, &world.Slot{Name: "looker", System: look})
	s, err := world.New(c)
	require.NoError(t, err)
	return s, s.Configure()
}

func TestWhatSystemsDo(t *testing.T) {
	look := &looker{}
	s, err := serve(t, look, plugin("metasim::systems::Wind", element("velocity", "2 0 0"), element("drag", "1")), plugin("metasim::systems::Odometer"),
		plugin("metasim::systems::Spawner", element("period", "10"), element("life", "25")))
	require.NoError(t, err)
	before := s.Entities()
	most := 0
	for range 1000 {
		require.NoError(t, s.Step())
		most = max(most, s.Entities()-before)
	}
	assert.Equal(t, 3*3, most, "three balls at a time, of three entities each")
	assert.InDelta(t, 2, look.speed, 0.001, "the wind carries it")
	assert.InDelta(t, 18, look.way, 0.05, "2 m/s for 10 s, less what the start took")
}

func TestParametersThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		plugin *sdf.Plugin
		want   string
	}{
		{plugin("metasim::systems::Wind", element("velocity", "fast")), `w.sdf:4: <velocity> is "fast", not 3 numbers; write for example <velocity>0 0 0</velocity>`},
		{plugin("metasim::systems::Wind", element("drag", "NaN")), `w.sdf:4: <drag> is "NaN", not 1 numbers; write for example <drag>0.1</drag>`},
		{plugin("metasim::systems::Spawner", element("period", "0")), `<period> is no whole number above 0; write for example <period>100</period>`},
	} {
		_, err := serve(t, &looker{}, c.plugin)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := New("metasim::systems::Wnd")
	assert.EqualError(t, err, `there is no system metasim::systems::Wnd; did you mean "metasim::systems::Wind"?`)
	assert.ErrorAs(t, err, new(*UnknownError))
	nothing, err := New("gz::sim::systems::UserCommands")
	assert.NoError(t, err)
	assert.Nil(t, nothing)
}

// A camera of 50 Hz makes pictures at 10, 20, 40, ... 100 ms, and one that says no rate at every step.
func TestRatesOfCameras(t *testing.T) {
	for rate, want := range map[float64]int{50: 6, 0: 10} {
		system, err := New("gz::sim::systems::Sensors")
		require.NoError(t, err)
		eye := &sdf.Model{Name: "eye", Static: true, Pose: spatial.Identity, Links: []*sdf.Link{{Name: "l", Pose: spatial.Identity, Sensors: []*sdf.Sensor{
			{Name: "camera", Type: "camera", Pose: spatial.Identity, UpdateRate: rate, Topic: "CAMERA",
				Camera: &sdf.Camera{Pose: spatial.Identity, HorizontalFOV: 1, Width: 2, Height: 2, Near: 0.1, Far: 100}}}}}}
		s, err := world.New(world.Config{Topics: []string{"CAMERA"}, Slots: []*world.Slot{{Name: "sensors", Plugin: plugin("gz::sim::systems::Sensors"), System: system}},
			World: &sdf.World{Name: "w", Physics: sdf.Physics{Step: 10 * metasim.Millisecond}, Models: []*sdf.Model{eye}}})
		require.NoError(t, err)
		require.NoError(t, s.Configure())
		for range 10 {
			require.NoError(t, s.Step())
		}
		assert.Equal(t, want, len(s.Told()), rate)
	}
}
