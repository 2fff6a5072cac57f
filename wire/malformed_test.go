package wire_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
	"metasim/wire"
)

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// Every malformed frame has an error of one sentence: what is wrong, and what to do.
func TestMalformedFrames(t *testing.T) {
	for _, c := range []struct{ name, frame, want string }{
		{"empty", "", "an empty frame: a frame holds at least one packet"},
		{"no packet", "1200", "a frame with 2 bytes of something else at byte 0"},
		{"trailing garbage", "0a022a00 ff", "a frame with 1 bytes of something else at byte 4"},
		{"packet beyond the frame", "0a7f2a00", "something else at byte 0"},
		{"no body", "0a020807", "a packet without a body (member 7)"},
		{"no body, no member", "0a00", "a packet without a body (member 0)"},
		{"infinity as a time", "0a0e420c0a0a08ffffffffffffffff7f", "an instant at 9223372036854775807ns: that is infinity"},
		{"last step", "0a0c3a0a1208080110ffffffff0f", "a send on \"\" at 1ns+4294967295: that is the last step"},
		{"unknown body", "0a048a010108", "a packet with a body in field 17: this version knows no such body"},
		{"body is no message", "0a022801", "a packet of member 0 that cannot be read"},
		{"two bodies", "0a042a002a00", "more or less than one body"},
		{"member after the body", "0a042a000801", "more or less than one body"},
		{"member beyond 32 bits", "0a08 08 ffffffff1f 2a00", "a member number of 8589934591: it has 32 bits"},
		{"unending member", "0a0308ffff", "a packet whose member is no number"},
		{"unknown field", "0a04 2a020801", "a Goodbye with a field 1: this version knows no such field"},
		{"unknown field of an instant", "0a06 4204 0a022001", "a Instant with a field 4"},
		{"unknown field of a report", "0a06 4a04 0a022801", "a Report with a field 5"},
		{"negative computing time", "0a0d 4a0b 10 ffffffffffffffffff01", "a report of -1ns computed, 0ns of processor time"},
		{"negative processor time", "0a0d 520b 28 ffffffffffffffffff01", "a report of 0ns computed, -1ns of processor time"},
		{"negative time without a core", "0a0d 520b 30 ffffffffffffffffff01", "0ns of processor time and -1ns without a core"},
		{"instant beyond its report", "0a08 5206 0a02 0a02 1801", "a PollWait that cannot be read: a body is protobuf, its " +
			"names are UTF-8 (2 bytes are announced where 0 follow)"},
		{"tag of field 0", "0a04 4202 0200", "a PromiseNoSend that cannot be read"},
		{"group", "0a04 4202 0b0c", "a PromiseNoSend with a field 1"},
		{"group without an end", "0a03 4201 0b", "a PromiseNoSend that cannot be read"},
		{"number without an end", "0a06 4a04 0a02 20ff", "a NotifyAdvance that cannot be read"},
		{"negative clock", "0a11 4a0f 0a0d 0a0b 08 ffffffffffffffffff01", "a clock at -1ns"},
		{"negative authorization", "0a0f 6a0d 0a0b 08 ffffffffffffffffff01", "an authorization at -1ns"},
		{"negative wait", "0a0f 520d 120b 08 ffffffffffffffffff01", "a wait at -1ns"},
		{"negative leave", "0a0f 5a0d 0a0b 08 ffffffffffffffffff01", "a leave at -1ns"},
		{"negative time", "0a0f 420d 0a0b 08 ffffffffffffffffff01", "a promise at -1ns: a run begins at 0"},
		{"step beyond 32 bits", "0a0a 4208 0a06 10 ffffffff1f", "an instant's step of 8589934591"},
		{"infinity and a time", "0a08 4206 0a04 08011801", "an instant at infinity and at 1ns"},
		{"sender beyond 32 bits", "0a08 6206 10 ffffffff1f", "a sender of 8589934591"},
		{"client beyond 32 bits", "0a08 7206 08 ffffffff1f", "a client of 8589934591"},
		{"version beyond 32 bits", "0a08 1206 08 ffffffff1f", "a version of 8589934591"},
		{"negative reaction", "0a0d 120b 30 ffffffffffffffffff01", "a reaction at -1ns"},
		{"negative reason", "0a0d 320b 08 ffffffffffffffffff01", "a reason of 18446744073709551615"},
		{"name is no UTF-8", "0a05 3a03 0a01ff", "a SendMessage that cannot be read"},
		{"wrong type", "0a04 3a020801", "a SendMessage with a field 1"},
		{"cut inside a body", "0a05 3a03 0a05ff", "a SendMessage that cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			frame, err := hex.DecodeString(strings.ReplaceAll(c.frame, " ", ""))
			require.NoError(t, err)
			var decoder wire.Decoder
			_, err = decoder.Packets(frame)
			var refused *wire.ProtocolError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, c.want)
			require.NotEmpty(t, refused.Remedy)
			require.NotEmpty(t, refused.Bound)
			require.NotErrorIs(t, err, io.ErrUnexpectedEOF, "that is for a stream that ends")
		})
	}
}

func TestTooManyPackets(t *testing.T) {
	var decoder wire.Decoder
	_, err := decoder.Packets(bytes.Repeat([]byte{0x0a, 2, 0x2a, 0}, wire.MaxPackets))
	require.NoError(t, err)
	_, err = decoder.Packets(bytes.Repeat([]byte{0x0a, 2, 0x2a, 0}, wire.MaxPackets+1))
	require.ErrorContains(t, err, "a frame holds at most 65536; use more frames")
}

func TestTooLargeABody(t *testing.T) {
	body := protowire.AppendBytes([]byte{0x12}, protowire.AppendBytes([]byte{0x12}, make([]byte, wire.MaxControl)))
	var decoder wire.Decoder
	_, err := decoder.Packets(protowire.AppendBytes([]byte{0x0a}, body))
	require.ErrorContains(t, err, "only a message with a payload has more than 4194304")
}

// Peers of two versions can part: a Hello and a Refuse with unknown fields are decoded.
func TestLaterVersionsCanSayHello(t *testing.T) {
	var decoder wire.Decoder
	got, err := decoder.Packets([]byte{0x0a, 7, 0x12, 5, 0x08, 9, 0xc2, 0x3e, 0})
	require.NoError(t, err)
	require.Equal(t, []wire.Packet{{Body: wire.Hello{Version: 9}}}, got)
}

func TestMalformedStreams(t *testing.T) {
	whole := string(frames(t, wire.Packet{Body: wire.Goodbye{}}))
	for _, c := range []struct{ name, stream, want string }{
		{"a length of 4 GiB", "\xff\xff\xff\xff", "peer 7 sent a frame of 4294967295 bytes: a frame has at most 67108864"},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", "peer 7 sent a frame of 542393671 bytes"},
		{"half a length", "\x01\x02", "2 bytes of a frame: at least 4 belong to it"},
		{"half a frame", whole[:len(whole)-1], "7 bytes of a frame: at least 8 belong to it"},
		{"a length alone", "\x00\x00\x00\x04", "4 bytes of a frame: at least 67108868"},
		{"an empty frame", "\x00\x00\x00\x00", "peer 7 sent an empty frame"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := wire.NewReader(strings.NewReader(c.stream), "peer 7").Read()
			var refused *wire.ProtocolError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, c.want)
			if strings.HasPrefix(c.name, "half") {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			}
		})
	}
	_, err := wire.NewReader(strings.NewReader(""), "peer 7").Read()
	require.Equal(t, io.EOF, err, "the end between two frames is no error of the protocol")
}

// A length alone allocates nothing: memory grows with the bytes that come.
func TestMemoryFollowsWhatComes(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 16 {
		_, err := wire.NewReader(strings.NewReader("\x00\x00\x00\x04 and no more"), "peer").Read()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(wire.MaxFrame/8))
}

// A packet that the peer would refuse is refused by the writer, before anything is sent.
func TestWriterRefuses(t *testing.T) {
	long := strings.Repeat("x", wire.MaxName+1)
	for _, c := range []struct {
		body wire.Body
		want string
	}{
		{nil, "a body of type <nil>"},
		{&wire.Goodbye{}, "a body of type *wire.Goodbye"},
		{&metasim.Join{}, "a body of type *metasim.Join"},
		{&metasim.Send{Payload: make([]byte, wire.MaxPayload+1)}, "a payload of 67043329 bytes"},
		{&metasim.Send{Channel: long}, "a channel with a name of 1025 bytes"},
		{&metasim.Send{Channel: "\xff"}, "a name is valid UTF-8"},
		{&metasim.Leave{Cut: true}, "the server sets Cut itself"},
		{&metasim.Leave{Result: make([]byte, wire.MaxControl)}, "a result has at most"},
		{&metasim.Promise{NoSendBefore: metasim.Instant{Time: -1}}, "a promise at -1ns"},
		{&metasim.Send{Channel: "X", Sent: metasim.Instant{Time: 1, Step: 1<<32 - 1}}, `a send on "X" at 1ns+4294967295: that is the last step`},
		{wire.Hello{Name: long}, "a client with a name of 1025 bytes"},
		{wire.Hello{Token: long}, "a token of 1025 bytes"},
		{wire.Hello{Publications: []string{"A", "\xff"}}, `a publication called "\xff"`},
		{wire.Hello{Subscriptions: make([]string, wire.MaxControl)}, "use fewer or shorter names"},
		{wire.Hello{Reaction: -1}, "a reaction at -1ns"},
		{wire.Introduce{Name: long}, "a client with a name"},
		{wire.Welcome{Scenario: long}, "a scenario with a name"},
		{wire.Welcome{About: wire.About{Entry: long}}, "an entry with a name"},
		{wire.Welcome{About: wire.About{Entry: "a", With: strings.Repeat(" ", wire.MaxControl)}}, `the parameters of client "a" and its directory, 4194304 bytes`},
		{wire.Welcome{About: wire.About{With: "\xff"}}, "they are UTF-8"},
	} {
		var out bytes.Buffer
		err := wire.NewWriter(&out, "peer").Write([]wire.Packet{{Body: wire.Goodbye{}}, {Body: c.body}})
		require.ErrorContains(t, err, c.want)
		require.ErrorAs(t, err, new(*wire.ProtocolError))
		require.Zero(t, out.Len(), "nothing is sent of a pass that cannot be sent whole")
	}
}

// The largest payload, with the longest channel and the widest numbers, fits a frame.
func TestLargestPayload(t *testing.T) {
	large := &metasim.Deliver{Number: 1 << 63, Message: metasim.Message{
		From: 1<<32 - 1, Seq: 1 << 63, Channel: strings.Repeat("x", wire.MaxName), Payload: make([]byte, wire.MaxPayload),
		Sent: metasim.Instant{Time: metasim.Forever - 1, Step: 1<<32 - 2}, Due: metasim.Infinity,
	}}
	b := frames(t, wire.Packet{Member: 1<<32 - 1, Body: large})
	got, err := wire.NewReader(bytes.NewReader(b), "peer").Read()
	require.NoError(t, err)
	require.Equal(t, large.Message.Channel, got[0].Body.(*metasim.Deliver).Message.Channel)
	require.Len(t, got[0].Body.(*metasim.Deliver).Message.Payload, wire.MaxPayload)
}
