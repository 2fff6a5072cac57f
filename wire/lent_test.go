package wire_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/internal/slab"
	"metasim/metasim"
	"metasim/wire"
)

// A sink takes so many bytes in all, and then waits, or breaks.
type sink struct {
	wire.Conn
	got    []byte
	room   int
	breaks bool
}

func (s *sink) TryRead() ([]wire.Packet, error) { return nil, nil }

func (s *sink) TryWriteFrames(b []byte) (int, error) {
	n := min(len(b), s.room)
	s.got, s.room = append(s.got, b[:n]...), s.room-n
	if n < len(b) && s.breaks {
		return n, errors.New("broken")
	}
	return n, nil
}

func (s *sink) WriteFrames(b []byte) error {
	s.got = append(s.got, b...)
	return nil
}

// Packets come out of frames as they went in, however little of them is written at a time, with payloads that are copied and others that are not.
func TestFramesAreWrittenInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var encoder wire.Encoder
		var frames wire.Frames
		var use slab.Use
		var want []wire.Packet
		out := &sink{}
		fill, total := byte(0), 0
		for range rapid.IntRange(1, 5).Draw(t, "passes") {
			var pass []wire.Packet
			for _, size := range rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 1000, 131_071, 131_072, 131_073, 300_000}), 0, 4).Draw(t, "sizes") {
				fill++
				pass = append(pass, wire.Packet{Member: 3, Body: &metasim.Send{Channel: "A", Payload: bytes.Repeat([]byte{fill}, size)}})
			}
			before := frames.Len()
			bad := []wire.Packet{{Body: &metasim.Send{Channel: "A", Payload: make([]byte, 200_000)}}, {Body: 7}}
			require.Error(t, encoder.Append(&frames, bad))
			require.Equal(t, before, frames.Len(), "as it was")
			require.NoError(t, encoder.Append(&frames, pass))
			want, total = append(want, pass...), total+frames.Len()-before
			out.room = rapid.IntRange(0, 400_000).Draw(t, "room")
			n, err := frames.TryWrite(out)
			require.NoError(t, err)
			require.Equal(t, total, len(out.got)+frames.Len())
			require.LessOrEqual(t, n, 400_000)
			if frames.Len() == 0 {
				frames.Reuse(&use, 256, 64<<10)
			}
		}
		require.NoError(t, frames.WriteAll(out))
		require.Len(t, out.got, total)
		reader := wire.NewReader(bytes.NewReader(out.got), "test")
		var got []wire.Packet
		for len(got) < len(want) {
			packets, err := reader.Read()
			require.NoError(t, err)
			for _, p := range packets {
				got = append(got, p.Keep())
			}
		}
		for i := range want {
			require.Equal(t, want[i].Member, got[i].Member)
			require.True(t, bytes.Equal(want[i].Body.(*metasim.Send).Payload, got[i].Body.(*metasim.Send).Payload), i)
		}
	})
}

// A connection that breaks in the middle says so, and how much it has taken.
func TestFramesOfABrokenConnection(t *testing.T) {
	var encoder wire.Encoder
	var frames wire.Frames
	require.NoError(t, encoder.Append(&frames, []wire.Packet{{Body: &metasim.Send{Channel: "A", Payload: make([]byte, 200_000)}}}))
	n, err := frames.TryWrite(&sink{room: 100_000, breaks: true})
	require.Error(t, err)
	require.Equal(t, 100_000, n)
}

// A large payload is held once, whoever it is for.
func TestALargePayloadIsNotCopied(t *testing.T) {
	var encoder wire.Encoder
	var frames wire.Frames
	payload := make([]byte, 4<<20)
	require.NoError(t, encoder.Append(&frames, []wire.Packet{{Body: &metasim.Send{Channel: "A", Payload: payload}}}))
	payload[3<<20] = 1 // which nobody may do
	out := &sink{room: 1 << 30}
	n, err := frames.TryWrite(out)
	require.NoError(t, err)
	require.Equal(t, n, len(out.got))
	require.Equal(t, 1, bytes.Count(out.got[2<<20:], []byte{1}))
}

// A parted stream has some of its bytes apart, as a transport may.
type parted struct {
	parts []part
}

type part struct {
	bytes []byte
	apart bool
}

func (p *parted) Read(b []byte) (int, error) {
	if len(p.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.parts[0].bytes)
	if p.parts[0].bytes, p.parts[0].apart = p.parts[0].bytes[n:], p.parts[0].apart && n == 0; len(p.parts[0].bytes) == 0 {
		p.parts = p.parts[1:]
	}
	return n, nil
}

func (p *parted) Apart() int {
	if len(p.parts) == 0 || !p.parts[0].apart {
		return 0
	}
	return len(p.parts[0].bytes)
}

func (p *parted) TakeApart(head []byte, room int) ([]byte, error) {
	whole := append(append(make([]byte, 0, len(head)+len(p.parts[0].bytes)+room), head...), p.parts[0].bytes...)
	p.parts = p.parts[1:]
	return whole, nil
}

// Packets are the same, wherever bytes of their frames come apart: in the middle of frames, across several, or only a few.
func TestPartsApartChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var encoder wire.Encoder
		var all []byte
		var want []wire.Packet
		for i, size := range rapid.SliceOfN(rapid.SampledFrom([]int{0, 10, 40_000, 131_072, 300_000}), 1, 6).Draw(t, "sizes") {
			p := wire.Packet{Member: 3, Body: &metasim.Send{Channel: "A", Payload: bytes.Repeat([]byte{byte(i + 1)}, size)}}
			want = append(want, p, wire.Packet{Member: 4, Body: &metasim.Promise{}})
			frames, err := encoder.AppendFrames(nil, want[len(want)-2:])
			require.NoError(t, err)
			all = append(all, frames...)
		}
		from := &parted{}
		for rest := all; len(rest) > 0; {
			n := min(len(rest), rapid.SampledFrom([]int{1, 3, 1000, 33_000, 100_000, 250_000}).Draw(t, "part"))
			from.parts = append(from.parts, part{rest[:n], rapid.Bool().Draw(t, "apart")})
			rest = rest[n:]
		}
		reader := wire.NewReader(from, "test")
		var got []wire.Packet
		for len(got) < len(want) {
			packets, err := reader.Read()
			require.NoError(t, err)
			for _, p := range packets {
				got = append(got, p.Keep())
			}
		}
		for i := range want {
			require.Equal(t, want[i].Member, got[i].Member)
			if sent, ok := want[i].Body.(*metasim.Send); ok {
				require.True(t, bytes.Equal(sent.Payload, got[i].Body.(*metasim.Send).Payload), i)
			}
		}
		_, err := reader.Read()
		require.Equal(t, io.EOF, err)
		frames, size := reader.Taken()
		require.Equal(t, uint64(len(all)), size)
		require.Positive(t, frames)
	})
}
