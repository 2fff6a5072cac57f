package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"metasim/wire"
	"metasim/wire/wirepb"
)

// Any bytes are refused with a ProtocolError, or are a frame: then the generated code reads it too, it is not longer when it
// is written again, and reading that gives the same packets.
func FuzzFrame(f *testing.F) {
	var encoder wire.Encoder
	for _, turn := range append(pingPong(), refusals()...) {
		b, err := encoder.Frames(turn.packets)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[4:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var decoder, again wire.Decoder
		packets, err := decoder.Packets(frame)
		if err != nil {
			require.ErrorAs(t, err, new(*wire.ProtocolError))
			return
		}
		require.LessOrEqual(t, len(packets), len(frame)/2)
		var twin wirepb.Frame
		require.NoError(t, proto.Unmarshal(frame, &twin))
		require.Len(t, twin.Packets, len(packets))
		for i, p := range packets {
			require.Equal(t, twin.Packets[i].Member, uint64(p.Member))
		}
		var encoder wire.Encoder
		b, err := encoder.Frames(packets)
		require.NoError(t, err)
		require.LessOrEqual(t, len(b), 4+len(frame))
		got, err := again.Packets(b[4:])
		require.NoError(t, err)
		require.Equal(t, packets, got)
	})
}

// Reading any bytes ends: with io.EOF between two frames, or with a ProtocolError.
func FuzzStream(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0, 0x0a, 2, 0x2a, 0, 1, 0, 0, 0})
	f.Add(binary.LittleEndian.AppendUint32(nil, 1<<32-1))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		reader := wire.NewReader(bytes.NewReader(stream), "fuzz")
		for {
			packets, err := reader.Read()
			if err != nil {
				var refused *wire.ProtocolError
				require.True(t, err == io.EOF || errors.As(err, &refused), "%v", err)
				return
			}
			require.NotEmpty(t, packets)
		}
	})
}
