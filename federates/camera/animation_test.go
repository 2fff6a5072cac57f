package camera

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// An animation passes as fast as simulated time, however far apart its pictures are: as a program reads its delays that shows it.
func TestAnimationsPassAsFastAsSimulatedTime(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))))
	for _, c := range []struct {
		apart metasim.Time
		n     int
		sum   metasim.Time // of the delays, but for the last one, in ms
		last  metasim.Time
	}{
		{metasim.Second / 60, 601, 10_000, 17},
		{40 * metasim.Millisecond, 26, 1000, 40},
		{metasim.Millisecond / 5, 11, 10, 1}, // no delay can be shorter
		{100 * metasim.Second, 3, 2 * 65535, 65535},
		{0, 1, 0, 1},
	} {
		var frames []Frame
		for i := range c.n {
			frames = append(frames, Frame{picture.Bytes(), metasim.Second + metasim.Time(i)*c.apart})
		}
		var out bytes.Buffer
		require.NoError(t, WriteAnimation(&out, frames))
		delays := delaysOf(t, out.Bytes())
		require.Len(t, delays, c.n)
		var sum metasim.Time
		for _, d := range delays[:c.n-1] {
			sum += d
		}
		assert.Equal(t, c.sum, sum, "%v apart", c.apart)
		assert.Equal(t, c.last, delays[c.n-1], "%v apart", c.apart)
	}
}

// delaysOf reads the delays of an animated PNG, in ms.
func delaysOf(t *testing.T, b []byte) (delays []metasim.Time) {
	for b = b[len(pngSignature):]; len(b) > 0; {
		n := binary.BigEndian.Uint32(b)
		if body := b[8 : 8+n]; string(b[4:8]) == "fcTL" {
			require.EqualValues(t, 1000, binary.BigEndian.Uint16(body[22:]))
			delays = append(delays, metasim.Time(binary.BigEndian.Uint16(body[20:])))
		}
		b = b[12+n:]
	}
	return delays
}
