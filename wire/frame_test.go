package wire_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/wire"
)

// sizes are payloads around every boundary of a Reader and of a Decoder's memory.
var sizes = []int{0, 1, 64, 1023, 1024, 1025, 4000, 4096, 5000, 40_000, 65_500, 65_536, 70_000, 262_144, 300_000, 1 << 20}

// Frames of all sizes come out as they went in, however the stream is cut into pieces; and nothing that was handed out
// changes when the next ones come, or when its owner appends to it.
func TestReaderTakesAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		var want []wire.Packet
		var encoder wire.Encoder
		fill := byte(0)
		for range rapid.IntRange(1, 6).Draw(t, "frames") {
			var pass []wire.Packet
			for _, size := range rapid.SliceOfN(rapid.SampledFrom(sizes), 1, 4).Draw(t, "sizes") {
				fill++
				pass = append(pass, wire.Packet{Body: &metasim.Send{
					Channel: "A", Payload: bytes.Repeat([]byte{fill}, size),
				}})
			}
			b, err := encoder.Frames(pass)
			require.NoError(t, err)
			stream, want = append(stream, b...), append(want, pass...)
		}
		piece := rapid.SampledFrom([]int{1000, 4096, 5000, 65_536, 1 << 30}).Draw(t, "piece")
		end := rapid.SampledFrom([]func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.DataErrReader, iotest.HalfReader,
		}).Draw(t, "end")
		reader := wire.NewReader(end(&pieces{b: stream, size: piece}), "test")
		var got []wire.Packet
		for {
			packets, err := reader.Read()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			for _, p := range packets {
				_ = append(p.Body.(*metasim.Send).Payload, 0xff) // what an owner may do
			}
			for _, p := range packets {
				got = append(got, p.Keep())
			}
		}
		require.Len(t, got, len(want))
		for i := range want {
			if payload := want[i].Body.(*metasim.Send).Payload; len(payload) > 0 {
				require.True(t, bytes.Equal(payload, got[i].Body.(*metasim.Send).Payload), "payload %d", i)
			} else {
				require.Empty(t, got[i].Body.(*metasim.Send).Payload)
			}
		}
	})
}

// A payload keeps its frame only where the frame is its own: not where the next one is read over it.
func TestPayloadsSurviveTheNextFrames(t *testing.T) {
	var stream []byte
	sizes := []int{65_536, 60_000, 60_000, 64, 64}
	for i, size := range sizes {
		stream = append(stream, frames(t, wire.Packet{Body: &metasim.Send{
			Payload: bytes.Repeat([]byte{byte(i)}, size),
		}})...)
	}
	reader := wire.NewReader(bytes.NewReader(stream), "test")
	var got [][]byte
	for len(got) < len(sizes) {
		packets, err := reader.Read()
		require.NoError(t, err)
		for _, p := range packets {
			got = append(got, p.Body.(*metasim.Send).Payload)
		}
	}
	for i, size := range sizes {
		require.True(t, bytes.Equal(bytes.Repeat([]byte{byte(i)}, size), got[i]), "payload %d", i)
	}
}

// pieces is a stream that comes so many bytes at a time.
type pieces struct {
	b    []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.b)
	p.b = p.b[n:]
	return n, nil
}

// In the steady state nothing is allocated for a packet but its payload, and small ones share.
func TestSteadyStateAllocatesPayloadsOnly(t *testing.T) {
	for name, pass := range passes() {
		var encoder wire.Encoder
		var decoder wire.Decoder
		b, err := encoder.Frames(pass)
		require.NoError(t, err)
		b = bytes.Clone(b)
		require.Zero(t, testing.AllocsPerRun(100, func() { _, err = encoder.Frames(pass) }), name)
		require.NoError(t, err)
		allowed := 0.0
		switch name {
		case "Send", "Deliver":
			allowed = 1.0 / 64 // 64 payloads of 64 bytes share 4 KiB
		case "Mixed":
			allowed = 1.0 / 7 // each seventh is a Leave
		case "Leave":
			allowed = 1 // there is one in the life of a member
		}
		reader := wire.NewReader(&endless{frame: b}, "test")
		largest := 0
		for range 10 { // it gets to know how much comes at once
			packets, err := reader.Read()
			require.NoError(t, err)
			largest = max(largest, len(packets))
		}
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, err = decoder.Packets(b[4:]) }), allowed*float64(len(pass)), name)
		require.NoError(t, err)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, err = reader.Read() }), allowed*float64(largest), name)
		require.NoError(t, err)
	}
}

// A large frame without a large payload gives its memory back.
func TestLargeFramesShareMemory(t *testing.T) {
	pass := make([]wire.Packet, 20_000)
	for i := range pass {
		pass[i] = wire.Packet{Member: uint32(i), Body: &metasim.Authorize{Until: metasim.At(7 * ms)}}
	}
	reader := wire.NewReader(&endless{frame: frames(t, pass...)}, "test")
	_, err := reader.Read()
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(10, func() { _, err = reader.Read() }))
	require.NoError(t, err)
}

// A stream that is full of small frames is read in large pieces.
func TestABusyStreamIsReadAhead(t *testing.T) {
	frame := frames(t, wire.Packet{Body: &metasim.Send{Payload: make([]byte, 200)}})
	reads := &counting{from: bytes.NewReader(bytes.Repeat(frame, 10_000))}
	reader := wire.NewReader(reads, "test")
	for came := 0; came < 10_000; {
		packets, err := reader.Read()
		require.NoError(t, err)
		came += len(packets)
	}
	require.Less(t, reads.n, 10_000*len(frame)/50_000)
}

// counting counts the reads of a stream.
type counting struct {
	from io.Reader
	n    int
}

func (c *counting) Read(b []byte) (int, error) {
	c.n++
	return c.from.Read(b)
}

// A body with padding is too long for the repeat cache.
func TestPaddedBodiesAreNotKept(t *testing.T) {
	body := bytes.Repeat([]byte{0x0a, 0}, 1<<20) // no_send_before, a million times
	frame := protowire.AppendBytes([]byte{0x0a}, protowire.AppendBytes([]byte{0x42}, body))
	var decoder wire.Decoder
	before := live()
	got, err := decoder.Packets(frame)
	require.NoError(t, err)
	require.Equal(t, []wire.Packet{{Body: &metasim.Promise{}}}, got)
	require.Less(t, live()-before, int64(len(body)/2))
	runtime.KeepAlive(&decoder)
	runtime.KeepAlive(frame)
}

// A payload that is kept keeps at most twice its size in memory, or 4 KiB.
func TestAPayloadKeepsLittleElse(t *testing.T) {
	for _, size := range sizes[1:] {
		var pass []wire.Packet
		for range 2_000_000/size + 1 {
			pass = append(pass, wire.Packet{Body: &metasim.Send{Payload: make([]byte, min(size, 2000))}})
		}
		pass = pass[:min(len(pass), wire.MaxPackets)]
		pass[0].Body = &metasim.Send{Payload: make([]byte, size)}
		stream := &endless{frame: frames(t, pass...)}
		var kept [8][]byte
		before := live()
		reader := wire.NewReader(stream, "test")
		for i := range kept {
			packets, err := reader.Read()
			require.NoError(t, err)
			kept[i] = packets[0].Body.(*metasim.Send).Payload
		}
		took := live() - before
		require.Less(t, took, int64(len(kept)*max(2*size, 4096)+64<<10), "payloads of %d bytes", size)
		runtime.KeepAlive(kept)
		runtime.KeepAlive(stream)
	}
}

// live is how much memory is reachable.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A large payload is not copied out of its frame: a read takes the memory of one.
func TestLargePayloadsAreNotCopied(t *testing.T) {
	const size = 8 << 20
	reader := wire.NewReader(&endless{frame: frames(t, wire.Packet{Body: &metasim.Send{Payload: make([]byte, size)}})}, "test")
	_, err := reader.Read() // later reads know the size of large frames
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 4 {
		_, err := reader.Read()
		require.NoError(t, err)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*size*3/2))
}

// A connection with little traffic takes little memory: there may be ten thousand.
func TestAnIdleReaderIsSmall(t *testing.T) {
	const readers = 1000
	frame := frames(t, wire.Packet{Member: 1, Body: &metasim.Authorize{Until: metasim.At(5 * ms)}},
		wire.Packet{Member: 1, Body: &metasim.Send{Channel: "X", Payload: make([]byte, 64)}})
	var all [readers]*wire.Reader
	before := live()
	for i := range all {
		all[i] = wire.NewReader(&pieces{b: frame, size: 200}, "test")
		_, err := all[i].Read()
		require.NoError(t, err)
	}
	require.Less(t, live()-before, int64(readers*7<<9))
	runtime.KeepAlive(all)
}

// A stream frees the memory of a burst when little comes after it; a steady stream allocates nothing.
func TestAReaderGivesBack(t *testing.T) {
	var all [100]*wire.Reader
	small := frames(t, wire.Packet{Body: &metasim.Promise{NoSendBefore: metasim.At(5 * ms)}})
	before := live()
	for i := range all {
		burst := bytes.NewReader(frames(t, wire.Packet{Body: &metasim.Send{Payload: make([]byte, 60_000)}}))
		all[i] = wire.NewReader(io.MultiReader(burst, &pieces{b: bytes.Repeat(small, 400), size: len(small)}), "test")
		for range 301 {
			_, err := all[i].Read()
			require.NoError(t, err)
		}
		require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = all[i].Read() })) // another test checks the end
	}
	require.Less(t, live()-before, int64(len(all)*(10<<10)))
	runtime.KeepAlive(all)
}
