package wire_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/wire"
)

// bodies draws one of each body, by name; the audit test sees to it that none is missing.
func bodies(t *rapid.T) map[string]wire.Body {
	name := func(label string) string { return rapid.StringN(0, 20, 200).Draw(t, label) }
	names := rapid.SliceOfN(rapid.StringN(0, 8, 40), 1, 4)
	number := func(label string) uint64 { return rapid.Uint64().Draw(t, label) }
	payload := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "payload")
	report := metasim.Report{
		Now: instant(t), NoSendBefore: instant(t), NextEvent: instant(t), Acked: number("acked"),
		Computed: rapid.Int64Min(0).Draw(t, "computed"), CPU: rapid.Int64Min(0).Draw(t, "cpu"), CoreWait: rapid.Int64Min(0).Draw(t, "core wait"),
	}
	return map[string]wire.Body{
		"Hello": wire.Hello{
			Version: rapid.Uint32().Draw(t, "version"), Name: name("name"), Token: name("token"),
			Publications: names.Draw(t, "publications"), Subscriptions: names.Draw(t, "subscriptions"),
			Reaction: instant(t).Time, Minor: rapid.Uint32().Draw(t, "minor"), Relay: name("relay"), Saves: rapid.Bool().Draw(t, "saves"),
			Returns: rapid.Bool().Draw(t, "returns"), Back: rapid.Ptr(rapid.Custom(func(t *rapid.T) wire.Back {
				return wire.Back{Sent: rapid.Uint64().Draw(t, "sent"), Handled: rapid.Uint64().Draw(t, "handled")}
			}), true).Draw(t, "back"),
		},
		"Welcome":   drawWelcome(t, name("scenario"), number("seed")),
		"Start":     wire.Start{Until: instant(t)},
		"Introduce": wire.Introduce{Client: metasim.ClientID(rapid.Uint32().Draw(t, "client")), Name: name("introduced")},
		"Goodbye":   wire.Goodbye{},
		"Failed":    wire.Failed{Reason: name("reason"), Gone: rapid.Bool().Draw(t, "gone")},
		"Checkpoint": wire.Checkpoint{Every: instant(t).Time, Now: instant(t), NoSendBefore: instant(t), NextEvent: instant(t), Cause: instant(t),
			Acked: number("acked"), State: payload, Failed: name("failed")},
		"Refuse":    wire.Refuse{Reason: wire.Reason(rapid.Uint32Range(0, 20).Draw(t, "reason")), Text: name("text")},
		"Send":      &metasim.Send{Channel: name("channel"), Sent: instant(t), Payload: payload},
		"Promise":   &metasim.Promise{NoSendBefore: instant(t)},
		"Advance":   &metasim.Advance{Report: report},
		"PollWait":  &metasim.PollWait{Report: report, Want: instant(t), Messages: rapid.Bool().Draw(t, "messages")},
		"Leave":     &metasim.Leave{Now: instant(t), Acked: number("acked"), Result: payload},
		"Authorize": &metasim.Authorize{Until: instant(t), QuietUntil: instant(t)},
		"Deliver": &metasim.Deliver{Number: number("number"), Message: metasim.Message{
			From: metasim.ClientID(rapid.Uint32().Draw(t, "from")), Seq: number("seq"), Channel: name("channel"),
			Sent: instant(t), Due: instant(t), Payload: payload,
		}},
	}
}

func instant(t *rapid.T) metasim.Instant {
	return rapid.OneOf(
		rapid.Just(metasim.Start), rapid.Just(metasim.Infinity),
		rapid.Custom(func(t *rapid.T) metasim.Instant {
			return metasim.Instant{
				Time: metasim.Time(rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "time")), Step: rapid.Uint32Max(math.MaxUint32-1).Draw(t, "step"),
			}
		}),
	).Draw(t, "instant")
}

// packets draws a pass's worth of packets of every kind.
func packets(t *rapid.T) []wire.Packet {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) wire.Packet {
		all := bodies(t)
		kinds := make([]string, 0, len(all))
		for kind := range all {
			kinds = append(kinds, kind)
		}
		return wire.Packet{
			Member: rapid.Uint32().Draw(t, "member"),
			Body:   all[rapid.SampledFrom(sorted(kinds)).Draw(t, "kind")],
		}
	}), 1, 8).Draw(t, "packets")
}

// What was written is what is read, in order, whatever the size of a frame.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := packets(t)
		encoder := wire.Encoder{MaxFrame: rapid.SampledFrom([]int{0, 4096, 100_000}).Draw(t, "max frame")}
		frames, err := encoder.Frames(sent)
		require.NoError(t, err)
		reader := wire.NewReader(bytes.NewReader(frames), "test")
		reader.MaxFrame = encoder.MaxFrame
		var got []wire.Packet
		for {
			some, err := reader.Read()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			require.NotEmpty(t, some)
			got = append(got, some...)
		}
		require.Equal(t, sent, got)
	})
}

func frames(t *testing.T, packets ...wire.Packet) []byte {
	t.Helper()
	var encoder wire.Encoder
	b, err := encoder.Frames(packets)
	require.NoError(t, err)
	return b
}

// A start that is absent and an infinity of one byte: what most reports hold.
func TestInstantsAreCompact(t *testing.T) {
	b := frames(t, wire.Packet{Body: &metasim.Promise{}})
	require.Equal(t, []byte{4, 0, 0, 0, 0x0a, 2, 0x42, 0}, b)
	b = frames(t, wire.Packet{Member: 1, Body: &metasim.Promise{NoSendBefore: metasim.Infinity}})
	require.Equal(t, []byte{10, 0, 0, 0, 0x0a, 8, 0x08, 1, 0x42, 4, 0x0a, 2, 0x18, 1}, b)
}

// What is handed out stays as it was when the next frame comes.
func TestPayloadsAreTheCallers(t *testing.T) {
	send := func(s string) wire.Packet {
		return wire.Packet{Body: &metasim.Send{Channel: "A", Payload: []byte(s)}}
	}
	stream := append(bytes.Clone(frames(t, send("one"))), frames(t, send("two"))...)
	reader := wire.NewReader(&pieces{b: stream, size: len(stream) / 2}, "test")
	first, err := reader.Read()
	require.NoError(t, err)
	one := first[0].Keep().Body.(*metasim.Send)
	_, err = reader.Read()
	require.NoError(t, err)
	require.Equal(t, "one", string(one.Payload))
	require.Equal(t, "A", one.Channel)
}

// A body that says the same as the one before is not parsed again: but what came before is remembered, not where it lay.
func TestARepeatIsWhatCame(t *testing.T) {
	until := func(at metasim.Time) wire.Packet { return wire.Packet{Body: &metasim.Authorize{Until: metasim.At(at)}} }
	sent := []wire.Packet{until(1), until(1), until(2), until(1)}
	var decoder wire.Decoder
	got, err := decoder.Packets(frames(t, sent...)[4:])
	require.NoError(t, err)
	require.Equal(t, sent, got)
	frame := frames(t, until(2))[4:]
	_, err = decoder.Packets(frame)
	require.NoError(t, err)
	frame[len(frame)-1] = 3 // another frame, in the same memory
	got, err = decoder.Packets(frame)
	require.NoError(t, err)
	require.Equal(t, []wire.Packet{until(3)}, got)
	frame[len(frame)-2] = 0x28
	_, err = decoder.Packets(frame)
	require.ErrorContains(t, err, "a Instant with a field 5")
}

// A pass that does not fit a frame goes out in several, in one write, and no frame holds too many packets.
func TestFramesAreSplit(t *testing.T) {
	many := make([]wire.Packet, wire.MaxPackets+1)
	for i := range many {
		many[i] = wire.Packet{Member: uint32(i), Body: &metasim.Promise{}}
	}
	counts := countPackets(t, frames(t, many...))
	require.Equal(t, []int{wire.MaxPackets, 1}, counts)
	encoder := wire.Encoder{MaxFrame: 100}
	payload := wire.Packet{Body: &metasim.Send{Payload: make([]byte, 60)}}
	b, err := encoder.Frames([]wire.Packet{payload, payload, {Body: wire.Goodbye{}}})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, countPackets(t, b))
	_, err = encoder.Frames([]wire.Packet{{Body: &metasim.Send{Payload: make([]byte, 100)}}})
	require.ErrorContains(t, err, "a frame has at most 100; split the message")
}

func countPackets(t *testing.T, b []byte) []int {
	t.Helper()
	var counts []int
	var decoder wire.Decoder
	for len(b) > 0 {
		size := int(binary.LittleEndian.Uint32(b))
		got, err := decoder.Packets(b[4 : 4+size])
		require.NoError(t, err)
		counts = append(counts, len(got))
		b = b[4+size:]
	}
	return counts
}

// A Refuse arrives whatever a dying program wrote.
func TestRefuseAlwaysArrives(t *testing.T) {
	text := "\xff" + strings.Repeat("é", wire.MaxText)
	reader := wire.NewReader(bytes.NewReader(frames(t, wire.Packet{Body: wire.Refuse{Text: text}})), "test")
	got, err := reader.Read()
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", wire.MaxText/2-1), got[0].Body.(wire.Refuse).Text)
}

func drawWelcome(t *rapid.T, scenario string, seed uint64) wire.Welcome {
	timed := rapid.IntRange(0, 2).Draw(t, "timed")
	return wire.Welcome{Scenario: scenario, Seed: seed, Timed: timed > 0, CoreWait: timed > 1, About: wire.About{
		Entry: rapid.StringN(0, 8, 40).Draw(t, "entry"), Index: rapid.Uint32().Draw(t, "index"), Count: rapid.Uint32().Draw(t, "count"),
		With: rapid.StringN(0, 8, 40).Draw(t, "with"), Directory: rapid.StringN(0, 8, 40).Draw(t, "directory"),
	}}
}
