package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/wire"
)

// The repeat cache changes no result: reports that differ only in their work, in any order and with any fields behind, decode
// to the same as with the generated code.
func TestReportsThatDifferInTheirWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := new(wire.Decoder)
		report := metasim.Report{Now: metasim.At(5), NextEvent: metasim.Infinity, Acked: 3}
		for range rapid.IntRange(2, 12).Draw(t, "bodies") {
			field := protowire.Number(rapid.IntRange(9, 10).Draw(t, "kind"))
			var body wire.Body = &metasim.Advance{Report: report}
			if field == 10 {
				body = &metasim.PollWait{Report: report, Want: metasim.At(9), Messages: true}
			}
			b := bodyBytes(t, body)
			for range rapid.IntRange(0, 4).Draw(t, "fields behind") {
				number := protowire.Number(rapid.IntRange(1, 6).Draw(t, "field"))
				if value := rapid.Uint64().Draw(t, "value"); number == 1 {
					b = append(b, 0x0a, 2, 0x20, byte(value&0x7f)) // one more piece of the report
				} else {
					b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), value>>rapid.IntRange(1, 60).Draw(t, "bits"))
				}
			}
			_ = compareBody(t, d, field, b) // both may refuse it
		}
	})
}

// bodyBytes is a body without its tag.
func bodyBytes(t require.TestingT, body wire.Body) []byte {
	frame, err := new(wire.Encoder).Frames([]wire.Packet{{Body: body}})
	require.NoError(t, err)
	_, _, n := protowire.ConsumeTag(frame[4:])
	packet, _ := protowire.ConsumeBytes(frame[4+n:])
	_, _, n = protowire.ConsumeTag(packet)
	value, _ := protowire.ConsumeBytes(packet[n:])
	return append([]byte(nil), value...)
}
