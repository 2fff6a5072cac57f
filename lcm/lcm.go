// Package lcm reads and writes the event logs of LCM (Lightweight Communications and Marshalling), so that recordings of
// real systems can be played into a run, and runs can be shown with LCM's tools. It needs nothing of LCM itself.
//
// # Event logs
//
// A log (.lcmlog, as the stock lcm-logger writes it) is a sequence of events without a header, a footer or checksums.
// Every event is, all integers big-endian:
//
//	u32 magic 0xEDA1DA01 | i64 number | i64 time, microseconds |
//	u32 length of the channel | u32 length of the payload | channel | payload
//
// The concatenation of two logs is a log. A reader that finds no magic where an event should begin looks for the next one:
// so does [Reader], and it counts the bytes that it skips.
//
// # Duties of the caller
//
//  1. Call [Reader.Skipped] at the end, and report what is not 0.
//  2. Bring the times into order; [Clock] does it.
//  3. Give [NewWriter] a buffered writer if there are many events.
package lcm

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Magic is the first bytes of every event.
const Magic = "\xed\xa1\xda\x01"

// MaxPayload is the longest payload of an event in bytes: 256 MiB, as in the stock C tools.
const MaxPayload = 1 << 28

const (
	maxChannel = 999 // bytes of a channel name in a log, as in the stock C tools; a network allows 63
	headerSize = 28  // bytes of the magic, the number, the time and the two lengths
)

// An Event is one message in a log.
type Event struct {
	Number  int64  // as in the log: usually counts the events from 0
	Time    int64  // microseconds of the recorder's clock, usually since 1970
	Channel string // 1 to 999 bytes
	Payload []byte // may be empty
}

// A header is the fixed part of an event.
type header struct {
	number, time     int64
	channel, payload uint32
}

// parseHeader reads b, which has at least headerSize bytes and begins with the magic. ok is false if a length is beyond
// the limits.
func parseHeader(b []byte) (h header, ok bool) {
	h.number = int64(binary.BigEndian.Uint64(b[4:]))
	h.time = int64(binary.BigEndian.Uint64(b[12:]))
	h.channel = binary.BigEndian.Uint32(b[20:])
	h.payload = binary.BigEndian.Uint32(b[24:])
	return h, 1 <= h.channel && h.channel <= maxChannel && h.payload <= MaxPayload
}

// size is the length of the whole event in bytes.
func (h header) size() int { return headerSize + int(h.channel) + int(h.payload) }

// A TornError says that a log ends inside an event, because its writer was killed. All events before it were returned. To
// errors.Is it is an io.ErrUnexpectedEOF.
type TornError struct {
	Offset int64 // of the torn event, from the start of the log
	Have   int64 // how many bytes of the event are there
	Want   int64 // how many it has at least
}

func (e *TornError) Error() string {
	return fmt.Sprintf("the log ends inside the event at byte %d: %d bytes of %d; all events before it are whole",
		e.Offset, e.Have, e.Want)
}

// Unwrap returns io.ErrUnexpectedEOF.
func (e *TornError) Unwrap() error { return io.ErrUnexpectedEOF }

// A Writer writes a log.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a writer of a log to w. Each event is one Write, so that a crash tears at most one event.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write appends one event; its number and time are not checked. An event that readers would refuse is an error, and then
// nothing is written.
//
// The stock Java tools (lcm-logplayer-gui) cannot read an event with an empty payload or a channel of more than 255 bytes.
func (w *Writer) Write(ev Event) error {
	if len(ev.Channel) == 0 || len(ev.Channel) > maxChannel {
		return fmt.Errorf("event %d has a channel name of %d bytes; use 1 to %d",
			ev.Number, len(ev.Channel), maxChannel)
	}
	if len(ev.Payload) > MaxPayload {
		return fmt.Errorf("event %d on %q has a payload of %d bytes; use at most %d",
			ev.Number, ev.Channel, len(ev.Payload), MaxPayload)
	}
	b := append(w.buf[:0], Magic...)
	b = binary.BigEndian.AppendUint64(b, uint64(ev.Number))
	b = binary.BigEndian.AppendUint64(b, uint64(ev.Time))
	b = binary.BigEndian.AppendUint32(b, uint32(len(ev.Channel)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(ev.Payload)))
	b = append(b, ev.Channel...)
	b = append(b, ev.Payload...)
	w.buf = b
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("write event %d: %w", ev.Number, err)
	}
	return nil
}
