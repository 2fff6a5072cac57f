package lcm

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The limits of an event, those of the stock C tools. They are checked before anything is allocated.
const (
	MaxChannel = 999     // bytes of a channel name in a log; on the network LCM allows 63
	MaxPayload = 1 << 28 // bytes of a payload: 256 MiB
)

const (
	magic      = 0xEDA1DA01
	headerSize = 28 // magic, number, time and the two lengths
)

// An Event is one message in a log.
type Event struct {
	Number  int64  // as the log has it: usually counts the events from 0
	Time    int64  // microseconds; of which clock is the recorder's matter, usually since 1970
	Channel string // 1 to MaxChannel bytes
	Payload []byte // may be empty
}

// A header is the fixed part of an event.
type header struct {
	number, time     int64
	channel, payload uint32
}

// parseHeader reads b, which has headerSize bytes and begins with the magic. It reports whether the lengths can be
// true.
func parseHeader(b []byte) (h header, ok bool) {
	h.number = int64(binary.BigEndian.Uint64(b[4:]))
	h.time = int64(binary.BigEndian.Uint64(b[12:]))
	h.channel = binary.BigEndian.Uint32(b[20:])
	h.payload = binary.BigEndian.Uint32(b[24:])
	return h, 1 <= h.channel && h.channel <= MaxChannel && h.payload <= MaxPayload
}

// size is the length of the whole event in bytes.
func (h header) size() int { return headerSize + int(h.channel) + int(h.payload) }

// A TornError tells that a log ends inside an event, as it does when its writer is killed. All events before it were
// returned. It is an io.ErrUnexpectedEOF to errors.Is.
type TornError struct {
	Offset     int64 // of the event that was cut off, from the start of the log
	Have, Want int64 // how many of the event's bytes are there, and how many there should be; at least
}

func (e *TornError) Error() string {
	return fmt.Sprintf("lcm: the log ends inside the event at byte %d: %d bytes of %d; what comes before it is whole",
		e.Offset, e.Have, e.Want)
}

// Unwrap returns io.ErrUnexpectedEOF.
func (e *TornError) Unwrap() error { return io.ErrUnexpectedEOF }
