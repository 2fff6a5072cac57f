package wire_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/wire"
)

// Wherever a stream is cut when it is written and read, both sides count the frames that the Encoder made.
func TestTrafficIsCountedHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		encoder := wire.Encoder{MaxFrame: 3000}
		var stream []byte
		var made uint64
		for range rapid.IntRange(1, 8).Draw(t, "passes") {
			var pass []wire.Packet
			for _, size := range rapid.SliceOfN(rapid.IntRange(0, 2000), 1, 5).Draw(t, "sizes") {
				pass = append(pass, wire.Packet{Body: &metasim.Send{Channel: "A", Payload: make([]byte, size)}})
			}
			b, err := encoder.Frames(pass)
			require.NoError(t, err)
			stream, made = append(stream, b...), made+uint64(countFrames(b))
		}
		var sent bytes.Buffer
		w := wire.NewWriter(&sent, "test")
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), rapid.SampledFrom([]int{1, 2, 3, 4, 5, 100, 3000, 1 << 20}).Draw(t, "cut"))
			if rapid.Bool().Draw(t, "past the writer") {
				sent.Write(rest[:n])
				w.Note(rest[:n])
			} else {
				require.NoError(t, w.WriteFrames(rest[:n]))
			}
			rest = rest[n:]
		}
		frames, size := w.Given()
		require.Equal(t, []uint64{made, uint64(len(stream))}, []uint64{frames, size})

		r := wire.NewReader(&pieces{b: sent.Bytes(), size: rapid.IntRange(1, 5000).Draw(t, "piece")}, "test")
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			} else {
				require.NoError(t, err)
			}
		}
		frames, size = r.Taken()
		require.Equal(t, []uint64{made, uint64(len(stream))}, []uint64{frames, size})
	})
}

// countFrames counts whole frames in the simplest way.
func countFrames(b []byte) (n int) {
	for ; len(b) > 0; n++ {
		size := int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24
		b = b[4+size:]
	}
	return n
}

// A malformed frame does not count, nor a large frame without its end.
func TestTrafficOfWhatIsNoFrame(t *testing.T) {
	good := frames(t, wire.Packet{Body: wire.Goodbye{}})
	large := frames(t, wire.Packet{Body: &metasim.Send{Payload: make([]byte, 100_000)}})
	for name, bad := range map[string][]byte{"empty": {0, 0, 0, 0}, "half": good[:5], "half of a large one": large[:90_000]} {
		r := wire.NewReader(bytes.NewReader(bytes.Join([][]byte{good, large, bad}, nil)), "test")
		var err error
		for err == nil {
			_, err = r.Read()
		}
		require.ErrorAs(t, err, new(*wire.ProtocolError), name)
		n, size := r.Taken()
		require.Equal(t, []uint64{2, uint64(len(good) + len(large))}, []uint64{n, size}, name)
	}
}

// The bytes that a broken stream accepted count.
func TestTrafficOfABrokenStream(t *testing.T) {
	b := frames(t, wire.Packet{Body: wire.Goodbye{}})
	w := wire.NewWriter(&full{room: len(b) + 3}, "test")
	require.NoError(t, w.WriteFrames(b))
	require.Error(t, w.WriteFrames(b))
	n, size := w.Given()
	require.Equal(t, []uint64{1, uint64(len(b) + 3)}, []uint64{n, size})
}

// full accepts some bytes and then fails.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	if f.room -= n; n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
