// Package worldview shows the state of a world from any camera: a node of a cluster that was sent the state needs nothing else, neither the file of the
// world nor its systems.
package worldview

import (
	"fmt"
	"image"

	"metasim/federates/camera"
	"metasim/federates/ecm"
	"metasim/federates/follower/frames"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
)

// A View is what a state looks like.
type View struct {
	state *ecm.View
	scene *camera.Scene
}

// Of reads a state: encoded changes that make it of nothing.
func Of(state []byte) (*View, error) {
	c, err := ecm.Decode(state)
	if err != nil {
		return nil, err
	}
	store := ecm.NewStore(world.Schema())
	if err := store.Apply(c); err != nil {
		return nil, err
	}
	v := store.ReadOnly()
	return &View{v, camera.Of(v)}, nil
}

// Draw draws what a stream shows. Number is that of the picture: it keys the noise of a camera that has some.
func (v *View) Draw(s *frames.Stream, number uint64) (*image.RGBA, error) {
	view, err := v.camera(&s.Camera)
	if err != nil {
		return nil, err
	}
	c := view.Sensor.Camera
	if !s.Clip.In(image.Rect(0, 0, c.Width, c.Height)) {
		return nil, fmt.Errorf("stream %s shows the rectangle %v, and the picture of its camera has %d x %d pixels; write a clip that lies in it", s.Name, s.Clip, c.Width, c.Height)
	}
	return v.scene.RenderPart(view, v.scene.Placed(), number, s.Clip), nil
}

// camera returns the camera of a stream: one of the world, or one that stands where the stream says.
func (v *View) camera(c *frames.Camera) (camera.View, error) {
	if c.Of == "" {
		p := spatial.Pose{Position: spatial.Vector{X: c.Position[0], Y: c.Position[1], Z: c.Position[2]},
			Rotation: spatial.Rotation{W: c.Rotation[0], X: c.Rotation[1], Y: c.Rotation[2], Z: c.Rotation[3]}}
		v.scene.Links = append(v.scene.Links, camera.Link{Pose: p})
		return camera.View{Link: len(v.scene.Links) - 1, Offset: spatial.Identity, Sensor: &sdf.Sensor{
			Camera: &sdf.Camera{HorizontalFOV: c.FOV, Width: int(c.Width), Height: int(c.Height), Near: c.Near, Far: c.Far}}}, nil
	}
	var topics []string
	for _, view := range v.scene.Views {
		topic, _ := v.state.Get(view.Entity, world.Topic)
		if string(topic) == c.Of {
			return view, nil
		}
		topics = append(topics, string(topic))
	}
	return camera.View{}, fmt.Errorf("the world has no camera with the topic %s; it has %q", c.Of, topics)
}
