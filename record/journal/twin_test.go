package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"metasim/record/journal/journalpb"
)

// bodies cuts a journal into the bodies of its records.
func bodies(journal []byte) (all [][]byte) {
	for rest := journal[headerSize:]; len(rest) > 0; {
		n := binary.LittleEndian.Uint32(rest)
		all = append(all, rest[frameSize:frameSize+n])
		rest = rest[frameSize+n:]
	}
	return all
}

// frame makes a journal of bodies.
func frame(bodies ...[]byte) []byte {
	journal := binary.LittleEndian.AppendUint32([]byte(magic), version)
	for _, body := range bodies {
		journal = binary.LittleEndian.AppendUint32(journal, uint32(len(body)))
		journal = binary.LittleEndian.AppendUint32(journal, crc32.Checksum(body, castagnoli))
		journal = append(journal, body...)
	}
	return journal
}

// TestTheGeneratedCodeWritesTheSameBytes holds the hand-written encoding to the schema: the generated code
// understands every field of it, and writes it the same.
func TestTheGeneratedCodeWritesTheSameBytes(t *testing.T) {
	check := func(t require.TestingT, entries []Entry) {
		journal := write(t, entries...)
		var again [][]byte
		for _, body := range bodies(journal) {
			var record journalpb.Record
			require.NoError(t, proto.Unmarshal(body, &record))
			effects := record.Effects
			record.Effects = nil // the generated code would write them before the event, as that is a oneof
			b, err := proto.Marshal(&record)
			require.NoError(t, err)
			b, err = proto.MarshalOptions{}.MarshalAppend(b, &journalpb.Record{Effects: effects})
			require.NoError(t, err)
			again = append(again, b)
		}
		require.True(t, bytes.Equal(journal, frame(again...)), "%x is written by the generated code as %x",
			bodies(journal), again)
	}
	check(t, story())
	for _, ev := range events() {
		check(t, []Entry{{Wall: 1, Event: filled(ev)}})
	}
	for _, eff := range effects() {
		e := filled(eff)
		check(t, append(history(&e), Entry{Wall: -1, Effects: append(effects(), e)}))
	}
	rapid.Check(t, func(t *rapid.T) { check(t, runs().Draw(t, "run")) })
}

// TestWhatIsWrittenIsRead is the round trip of random runs.
func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := runs().Draw(t, "run")
		got, err := read(write(t, want...))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
