package follower

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"

	"metasim/federates/catalog"
	"metasim/federates/follower/frames"
	"metasim/federates/follower/scene"
	"metasim/federates/follower/worldview"
)

// pictureEvery is how often the model render-node draws: one picture in so many frames.
const pictureEvery = 10

// A state is what the model render-node shows.
type state struct {
	size  int
	scene *scene.Scene // nil: bytes that mean nothing, or a world
	feed  *feed        // nil: no world
	view  *worldview.View
	part  int
	parts int
	hash  [sha256.Size]byte // of the last data
}

// newState returns the state of a node at the start. Nodes that take part without synchronisation have random numbers of their own, as
// engines have that nobody has given a seed; with it the seed of the run is that of all.
func newState(in *catalog.Instance) (*state, error) {
	s := &state{size: int(catalog.Get[int64](in, "state_bytes"))}
	s.hash = sha256.Sum256(binary.LittleEndian.AppendUint64(nil, in.Seed))
	if world, shows := catalog.Find[string](in, "world"); shows {
		s.feed = &feed{world: catalog.StateChannel(world)}
	}
	parts, draws := catalog.Find[int64](in, "parts")
	if !draws {
		return s, nil
	}
	if s.size < scene.Size {
		return nil, fmt.Errorf("state_bytes is %d, and a scene takes %d; raise it", s.size, scene.Size)
	}
	s.scene, s.parts, s.part = scene.New(in.Seed), int(parts), int(catalog.Get[int64](in, "part"))
	return s, nil
}

// alone gives a node random numbers of its own.
func (s *state) alone(name string) {
	own := sha256.Sum256([]byte(name))
	for i := range own {
		s.hash[i] ^= own[i]
	}
	if s.scene != nil {
		s.scene.Stir(binary.LittleEndian.Uint64(own[:]))
	}
}

// step computes the state of the next frame, and returns it as data.
func (s *state) step(f FrameData, inputs [][]byte) []byte {
	key := sha256.New()
	key.Write(s.hash[:])
	for _, n := range []uint64{f.Frame, uint64(f.Delta), uint64(f.Scene), uint64(len(inputs))} {
		key.Write(binary.LittleEndian.AppendUint64(nil, n))
	}
	for _, i := range inputs {
		sum := sha256.Sum256(i)
		key.Write(sum[:])
		if s.scene != nil {
			s.scene.Stir(binary.LittleEndian.Uint64(sum[:]))
			var x, y int
			if n, _ := fmt.Sscanf(string(i), "touch %d %d", &x, &y); n == 2 && max(x, -x, y, -y) < scene.Width { // else it is no touch
				s.scene.Touch(x, y)
			}
		}
	}
	data := make([]byte, 0, s.size)
	if s.scene != nil {
		s.scene.Step(f.Delta)
		data = s.scene.Append(data)
	}
	filled := len(data)
	data = data[:s.size]
	_, _ = rand.NewChaCha8([sha256.Size]byte(key.Sum(nil))).Read(data[filled:]) // it never fails
	s.hash = sha256.Sum256(data)
	return data
}

// set makes the state that of a frame's data.
func (s *state) set(data []byte) (err error) {
	s.hash = sha256.Sum256(data)
	switch {
	case s.feed != nil:
		s.view, err = worldview.Of(data)
	case s.scene != nil:
		err = s.scene.Decode(data)
	}
	return err
}

// pictures returns what the streams show, as PNG. A node of the demo that is asked for no stream draws its part of some frames.
func (s *state) pictures(f frames.FrameData, streams []Stream) (pictures [][]byte, err error) {
	if streams == nil && s.scene != nil && f.Frame%pictureEvery == 0 {
		streams = []Stream{{Clip: scene.Part(s.part, s.parts)}}
	}
	for i := range streams {
		var m *image.RGBA
		switch {
		case s.scene != nil:
			m = s.scene.Draw(streams[i].Clip)
		case s.view != nil:
			if m, err = s.view.Draw(&streams[i], f.Frame); err != nil {
				return nil, err
			}
		default:
			return nil, nil // it has nothing to show
		}
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			return nil, err
		}
		pictures = append(pictures, b.Bytes())
	}
	return pictures, nil
}
