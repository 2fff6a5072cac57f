package follower

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image/png"
	"math/rand/v2"

	"metasim/federates/catalog"
	"metasim/federates/follower/frames"
	"metasim/federates/follower/scene"
)

// pictureEvery is how often the model render-node draws: one picture in so many frames.
const pictureEvery = 10

// A state is what the model render-node shows.
type state struct {
	size  int
	scene *scene.Scene // nil: bytes that mean nothing
	part  int
	parts int
	hash  [sha256.Size]byte // of the last data
}

// newState returns the state of a node at the start. Nodes that take part without synchronisation have random numbers of their own, as
// engines have that nobody has given a seed; with it the seed of the run is that of all.
func newState(in *catalog.Instance) (*state, error) {
	s := &state{size: int(catalog.Get[int64](in, "state_bytes"))}
	s.hash = sha256.Sum256(binary.LittleEndian.AppendUint64(nil, in.Seed))
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
func (s *state) set(data []byte) error {
	s.hash = sha256.Sum256(data)
	if s.scene == nil {
		return nil
	}
	return s.scene.Decode(data)
}

// picture returns the node's part of the picture of a frame, as PNG; none for most frames.
func (s *state) picture(f frames.FrameData) ([]byte, error) {
	if s.scene == nil || f.Frame%pictureEvery != 0 {
		return nil, nil
	}
	var b bytes.Buffer
	err := png.Encode(&b, s.scene.Draw(scene.Part(s.part, s.parts)))
	return b.Bytes(), err
}
