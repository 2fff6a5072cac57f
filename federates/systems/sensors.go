package systems

import (
	"bytes"
	"image/png"
	"slices"

	"metasim/federates/camera"
	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/world"
)

// sensors makes the pictures of cameras, each at its update_rate, as PNG, and tells them on the camera's topic: the n-th picture (from 0) at the first step at or
// after n periods. A camera to whose topic nobody listens makes none. <background_color> and <ambient_light> take the place of those of the scene.
type sensors struct {
	topics              []string
	background, ambient *sdf.Color
	made                map[ecm.Entity]uint64 // pictures, by camera
	told                []world.Told
}

func (s *sensors) Configure(setup world.Setup, _ *ecm.View) error {
	p := parameters{plugin: setup.Plugin}
	s.topics, s.made = setup.Topics, map[ecm.Entity]uint64{}
	s.background, s.ambient = p.color("background_color"), p.color("ambient_light")
	return p.err
}

func (s *sensors) PostUpdate(i world.Info, v *ecm.View) error {
	var scene *camera.Scene // the state is looked at only where a picture is due
	for e, c := range v.With(world.Camera) {
		topic, _ := v.Get(e, world.Topic) // none is one that nobody hears
		rate := world.RateOf(c)
		if !slices.Contains(s.topics, string(topic)) || rate > 0 && float64(i.Time)*rate < float64(s.made[e])*1e9 {
			continue
		}
		if scene == nil {
			scene = camera.Of(v)
			scene.Lit(s.background, s.ambient)
		}
		if err := s.picture(scene, e, string(topic)); err != nil {
			return err
		}
	}
	return nil
}

// picture makes one.
func (s *sensors) picture(scene *camera.Scene, e ecm.Entity, topic string) error {
	n := slices.IndexFunc(scene.Views, func(v camera.View) bool { return v.Entity == e })
	if n < 0 {
		return nil // nothing carries it
	}
	view := scene.Views[n]
	var b bytes.Buffer
	if err := png.Encode(&b, scene.Render(view, scene.Placed(), s.made[e])); err != nil {
		return err
	}
	s.made[e]++
	s.told = append(s.told, world.Told{Topic: topic, Payload: b.Bytes()})
	return nil
}

func (s *sensors) Told() []world.Told {
	told := s.told
	s.told = nil
	return told
}

// Sees reports whether a system makes the pictures of cameras.
func Sees(system any) bool {
	_, sees := system.(*sensors)
	return sees
}
