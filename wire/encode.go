package wire

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

const (
	// lengthSize is the size of the length before each frame: u32, little-endian.
	lengthSize = 4
	// maxIdle is how much memory a connection keeps for its next frame, in bytes for each direction.
	maxIdle = 1 << 20
)

// An Encoder turns packets into frames. The zero value is ready. It is not safe for concurrent use.
type Encoder struct {
	// MaxFrame is the longest frame. Zero: the constant MaxFrame. Tests make it small.
	MaxFrame int

	buf  []byte
	head []byte // the current body without its payload: its length must be known before it is written
}

// Frames returns packets as frames, each behind its length: one frame, unless the limits require more. The bytes are valid
// until the next call. It fails with a *ProtocolError, and then nothing may be sent.
func (e *Encoder) Frames(packets []Packet) ([]byte, error) {
	buf, err := e.AppendFrames(e.buf[:0], packets)
	if err != nil {
		return nil, err
	}
	e.buf = buf
	return buf, nil
}

// AppendFrames is Frames that appends to buf. When it fails, it returns buf as it was.
func (e *Encoder) AppendFrames(buf []byte, packets []Packet) ([]byte, error) {
	if len(packets) == 0 {
		return buf, nil
	}
	limit := cmp.Or(e.MaxFrame, MaxFrame)
	before := len(buf)
	frame, count := before, 0 // the start of the current frame, and the number of its packets
	buf = append(buf, make([]byte, lengthSize)...)
	for _, p := range packets {
		if err := Check(p); err != nil {
			return buf[:before], err
		}
		tag, head, payload, err := appendBody(e.head[:0], p.Body)
		if err != nil {
			return buf[:before], err
		}
		e.head = head
		size := packetSize(p.Member, tag, len(head)+len(payload))
		if need := 1 + protowire.SizeBytes(size); need > limit {
			return buf[:before], protocolError(fmt.Sprintf("a packet of %d bytes", need),
				fmt.Sprintf("a frame has at most %d", limit), "split the message")
		} else if count > 0 && (count == MaxPackets || len(buf)-frame-lengthSize+need > limit) {
			seal(buf[frame:])
			frame, count = len(buf), 0
			buf = append(buf, make([]byte, lengthSize)...)
		}
		count++
		buf = appendVarint(append(buf, framePackets), uint64(size))
		buf = appendPacket(buf, p.Member, tag, head, payload)
	}
	seal(buf[frame:])
	return buf, nil
}

// release drops large buffers, once their content was written.
func (e *Encoder) release() {
	if cap(e.buf) > maxIdle {
		e.buf = nil
	}
	if cap(e.head) > maxIdle {
		e.head = nil
	}
}

// seal writes the length of a frame into its first bytes.
func seal(frame []byte) {
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-lengthSize))
}

func packetSize(member uint32, tag byte, body int) int {
	size := protowire.SizeVarint(uint64(tag)) + protowire.SizeBytes(body)
	if member != 0 {
		size += 1 + protowire.SizeVarint(uint64(member))
	}
	return size
}

// appendPacket appends a packet whose body is a head and a payload. This is the only copy of the payload.
func appendPacket(buf []byte, member uint32, tag byte, head, payload []byte) []byte {
	buf = appendNumber(buf, packetMember, uint64(member))
	buf = appendVarint(buf, uint64(tag))
	buf = appendVarint(buf, uint64(len(head)+len(payload)))
	buf = slices.Grow(buf, len(head)+len(payload))
	return append(append(buf, head...), payload...)
}

// appendBody appends a body that Check has passed, and returns the tag of its field in a packet. A payload at the end of the
// body is returned instead of appended.
func appendBody(b []byte, body Body) (tag byte, head, payload []byte, err error) {
	switch m := body.(type) {
	case *metasim.Send:
		b = appendString(b, sendChannel, m.Channel)
		b = appendInstant(b, sendSent, m.Sent)
		return packetSend, appendCount(b, sendPayload, m.Payload), m.Payload, nil
	case *metasim.Promise:
		return packetPromise, appendInstant(b, promiseNoSendBefore, m.NoSendBefore), nil, nil
	case *metasim.Advance:
		b = appendReport(b, advanceReport, &m.Report)
		b = appendNumber(b, advanceComputed, uint64(m.Computed))
		b = appendNumber(b, advanceCPU, uint64(m.CPU))
		return packetAdvance, appendNumber(b, advanceCoreWait, uint64(m.CoreWait)), nil, nil
	case *metasim.PollWait:
		b = appendReport(b, pollWaitReport, &m.Report)
		b = appendInstant(b, pollWaitWant, m.Want)
		b = appendNumber(b, pollWaitMessages, protowire.EncodeBool(m.Messages))
		b = appendNumber(b, pollWaitComputed, uint64(m.Computed))
		b = appendNumber(b, pollWaitCPU, uint64(m.CPU))
		return packetPollWait, appendNumber(b, pollWaitCoreWait, uint64(m.CoreWait)), nil, nil
	case *metasim.Leave:
		b = appendInstant(b, leaveNow, m.Now)
		b = appendNumber(b, leaveAcked, m.Acked)
		return packetLeave, appendCount(b, leaveResult, m.Result), m.Result, nil
	case *metasim.Deliver:
		b = appendNumber(b, deliverNumber, m.Number)
		b = appendNumber(b, deliverFrom, uint64(m.Message.From))
		b = appendNumber(b, deliverSeq, m.Message.Seq)
		b = appendString(b, deliverChannel, m.Message.Channel)
		b = appendInstant(b, deliverSent, m.Message.Sent)
		b = appendInstant(b, deliverDue, m.Message.Due)
		return packetDeliver, appendCount(b, deliverPayload, m.Message.Payload), m.Message.Payload, nil
	case *metasim.Authorize:
		b = appendInstant(b, authorizeUntil, m.Until)
		return packetAuthorize, appendInstant(b, authorizeQuiet, m.QuietUntil), nil, nil
	}
	tag, b, err = appendHandshake(b, body)
	return tag, b, nil, err
}

// appendVarint is protowire.AppendVarint without a call where one byte is enough, as it mostly is.
func appendVarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return protowire.AppendVarint(b, v)
}

// A field that is zero is left out.

func appendNumber(b []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, tag), v)
}

func appendString(b []byte, tag byte, s string) []byte {
	if s == "" {
		return b
	}
	return append(appendVarint(append(b, tag), uint64(len(s))), s...)
}

// appendCount appends the tag and length of v. The bytes of v follow.
func appendCount(b []byte, tag byte, v []byte) []byte { return appendNumber(b, tag, uint64(len(v))) }

func appendInstant(b []byte, tag byte, i metasim.Instant) []byte {
	switch {
	case i == metasim.Start:
		return b
	case i.Time == metasim.Forever:
		return append(b, tag, 2, instantInfinity, 1)
	}
	b, at := open(b, tag)
	b = appendNumber(b, instantTime, uint64(i.Time))
	b = appendNumber(b, instantStep, uint64(i.Step))
	return shut(b, at)
}

func appendReport(b []byte, tag byte, r *metasim.Report) []byte {
	if r.Now == metasim.Start && r.NoSendBefore == metasim.Start && r.NextEvent == metasim.Start && r.Acked == 0 {
		return b
	}
	b, at := open(b, tag)
	b = appendInstant(b, reportNow, r.Now)
	b = appendInstant(b, reportNoSendBefore, r.NoSendBefore)
	b = appendInstant(b, reportNextEvent, r.NextEvent)
	b = appendNumber(b, reportAcked, r.Acked)
	return shut(b, at)
}

// open begins a message inside a body, with one byte for its length, which shut fills in. One byte is enough: an Instant
// has at most 16 bytes, and a Report 65.
func open(b []byte, tag byte) (grown []byte, at int) { return append(b, tag, 0), len(b) + 2 }

func shut(b []byte, at int) []byte {
	b[at-1] = byte(len(b) - at)
	return b
}
