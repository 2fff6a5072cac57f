package scene

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

const frame = 16_683_333 * metasim.Nanosecond

var whole = image.Rect(0, 0, Width, Height)

// The parts cover the picture once, and put together they are the whole picture, byte by byte.
func TestPartsMakeTheWholePicture(t *testing.T) {
	s := New(1)
	for range 40 {
		s.Step(frame)
	}
	want := s.Draw(whole)
	for n := 1; n <= 9; n++ {
		together, area := image.NewRGBA(whole), 0
		for i := range n {
			part := Part(i, n)
			area += part.Dx() * part.Dy()
			draw.Draw(together, part, s.Draw(part), part.Min, draw.Src)
		}
		assert.Equal(t, Width*Height, area)
		assert.Equal(t, want.Pix, together.Pix, n)
	}
}

// A state that travels goes on as the one that stayed.
func TestAStateTravels(t *testing.T) {
	a, b := New(7), New(8)
	for range 100 {
		a.Step(frame)
	}
	state := a.Append(nil)
	require.Len(t, state, Size)
	require.NoError(t, b.Decode(append(state, "more"...)))
	for range 100 {
		a.Step(frame)
		b.Step(frame)
	}
	assert.Equal(t, a, b)
	assert.ErrorContains(t, b.Decode(state[:Size-1]), fmt.Sprintf("it has %d", Size))
	b.Stir(1)
	a.Step(frame)
	b.Step(frame)
	assert.NotEqual(t, a, b, "other gusts")
}

// Bytes that are no scene are refused: to draw them would take years.
func TestBytesThatAreNoScene(t *testing.T) {
	s := New(1)
	random := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random) // it never fails
	err := s.Decode(random)
	assert.ErrorContains(t, err, "what was received as the state of a scene is none; give parts to the controller")
	assert.Equal(t, New(1), s, "nothing has changed")
	s.Draw(whole)
	for at := 16; at < Size; at += 8 { // each number alone
		state := s.Append(nil)
		binary.LittleEndian.PutUint64(state[at:], 1<<62)
		require.Error(t, s.Decode(state))
		binary.LittleEndian.PutUint64(state[at:], 1<<63)
		require.Error(t, s.Decode(state))
	}
}

// The cloth neither flies apart nor falls down, and the picture is the same everywhere.
func TestTheSceneStaysInView(t *testing.T) {
	s := New(1)
	for range 3000 { // 50 s
		s.Step(frame)
		for _, p := range s.cloth {
			require.True(t, p.X > -Width*unit && p.X < 2*Width*unit && p.Y > 0 && p.Y < Height*unit, "%v", p)
		}
	}
	assert.Equal(t, "a65026fc8e4a534dab9d3ef53599a6d3eed1108e43909149f2182d590af5efeb", fmt.Sprintf("%x", sha256.Sum256(s.Draw(whole).Pix)))
}
