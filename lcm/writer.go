package lcm

import (
	"encoding/binary"
	"fmt"
	"io"
)

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
	b := append(w.buf[:0], magicBytes...)
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
