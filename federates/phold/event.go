package phold

import (
	"encoding/binary"
	"fmt"

	"metasim/metasim"
)

// An Event is to be executed by an LP at a time.
type Event struct {
	To    uint32       // the LP that executes it
	Time  metasim.Time // when
	From  uint32       // the LP that sent it
	Count uint64       // counts what that LP sent, from 0
}

// before is the order of execution in a block: by (Time, From, Count) for the events of one LP. The order of two LPs at one time
// changes no result, as they share nothing.
func (e *Event) before(f *Event) bool {
	switch { // mostly the times differ
	case e.Time != f.Time:
		return e.Time < f.Time
	case e.To != f.To:
		return e.To < f.To
	case e.From != f.From:
		return e.From < f.From
	}
	return e.Count < f.Count
}

// eventSize is the length of a payload.
const eventSize = 24

// Encode returns the payload: To u32, Time i64, From u32, Count u64, little-endian.
func (e Event) Encode() []byte {
	b := make([]byte, 0, eventSize)
	b = binary.LittleEndian.AppendUint32(b, e.To)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
	b = binary.LittleEndian.AppendUint32(b, e.From)
	return binary.LittleEndian.AppendUint64(b, e.Count)
}

// decode reads a payload.
func decode(payload []byte) (Event, error) {
	if len(payload) != eventSize {
		return Event{}, fmt.Errorf("an event of %d bytes; it has %d: check what is published on the channel",
			len(payload), eventSize)
	}
	return Event{
		To:    binary.LittleEndian.Uint32(payload),
		Time:  metasim.Time(binary.LittleEndian.Uint64(payload[4:])),
		From:  binary.LittleEndian.Uint32(payload[12:]),
		Count: binary.LittleEndian.Uint64(payload[16:]),
	}, nil
}
