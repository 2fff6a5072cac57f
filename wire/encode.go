package wire

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
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
	f := Frames{copied: buf}
	err := e.append(&f, packets, math.MaxInt)
	return f.copied, err
}

// Append adds packets to frames that wait to be written. When it fails, the frames are as they were.
func (e *Encoder) Append(f *Frames, packets []Packet) error {
	return e.append(f, packets, leastLent)
}

// append appends packets to frames, and lends the payloads of at least so many bytes.
func (e *Encoder) append(f *Frames, packets []Packet, least int) error {
	if len(packets) == 0 {
		return nil
	}
	lent, size := len(f.lent), f.size
	err := e.add(f, packets, least)
	if err != nil {
		clear(f.lent[lent:])
		f.lent, f.size = f.lent[:lent], size
	}
	return err
}

// add is append that fails in the middle.
func (e *Encoder) add(f *Frames, packets []Packet, least int) error {
	limit := cmp.Or(e.MaxFrame, MaxFrame)
	buf := append(f.copied, make([]byte, lengthSize)...)
	frame, lentSize, count := len(f.copied), 0, 0 // of the current frame: where it begins, how much of it is lent, how many packets it has
	for _, p := range packets {
		if err := Check(p); err != nil {
			return err
		}
		tag, head, payload, err := appendBody(e.head[:0], p.Body)
		if err != nil {
			return err
		}
		e.head = head
		size := packetSize(p.Member, tag, len(head)+len(payload))
		lends := len(payload) >= least
		if need := 1 + protowire.SizeBytes(size); need > limit {
			return protocolError(fmt.Sprintf("a packet of %d bytes", need),
				fmt.Sprintf("a frame has at most %d", limit), "split the message")
		} else if count > 0 && (lends || count == MaxPackets || len(buf)-frame-lengthSize+lentSize+need > limit) {
			// What is lent begins a frame: a reader keeps the memory of a frame for the payload that is most of it.
			seal(buf[frame:], lentSize)
			frame, lentSize, count = len(buf), 0, 0
			buf = append(buf, make([]byte, lengthSize)...)
		}
		count++
		buf = appendVarint(append(buf, framePackets), uint64(size))
		if lends {
			buf = appendPacket(buf, p.Member, tag, head, payload, copiedPart)
			rest := payload[copiedPart:]
			f.lent = append(f.lent, lent{len(buf), rest})
			f.size += len(rest)
			lentSize += len(rest)
		} else {
			buf = appendPacket(buf, p.Member, tag, head, payload, len(payload))
		}
	}
	seal(buf[frame:], lentSize)
	f.set(buf)
	return nil
}

// release drops a large buffer, once its content was written.
func (e *Encoder) release() {
	if cap(e.head) > maxIdle {
		e.head = nil
	}
}

// seal writes the length of a frame into its first bytes. So many bytes of it are lent.
func seal(frame []byte, lent int) {
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-lengthSize+lent))
}

func packetSize(member uint32, tag byte, body int) int {
	size := protowire.SizeVarint(uint64(tag)) + protowire.SizeBytes(body)
	if member != 0 {
		size += 1 + protowire.SizeVarint(uint64(member))
	}
	return size
}

// appendPacket appends a packet whose body is a head and a payload. Of the payload it copies so many bytes, and this is the only copy of them.
func appendPacket(buf []byte, member uint32, tag byte, head, payload []byte, copied int) []byte {
	buf = appendNumber(buf, packetMember, uint64(member))
	buf = appendVarint(buf, uint64(tag))
	buf = appendVarint(buf, uint64(len(head)+len(payload)))
	buf = slices.Grow(buf, len(head)+copied)
	return append(append(buf, head...), payload[:copied]...)
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
