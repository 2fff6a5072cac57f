package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// lengthSize is the length before each frame: u32, little-endian.
const lengthSize = 4

// An Encoder turns packets into frames. The zero value is ready. It is not safe for concurrent use.
type Encoder struct {
	// MaxFrame is the longest frame. Zero: the constant MaxFrame. Tests make it small.
	MaxFrame int

	buf  []byte
	head []byte // the body at hand, without its payload: lengths come before what they count
}

// keepBuffer is how much memory an idle connection holds on to, in each direction.
const keepBuffer = 1 << 20

// Frames returns packets as frames with their lengths, one after the other: a single one, unless limits ask for more.
// The bytes are valid until the next call. It fails with a *ProtocolError, and nothing is to be sent then.
func (e *Encoder) Frames(packets []Packet) ([]byte, error) {
	buf, err := e.AppendFrames(e.buf[:0], packets)
	if err != nil {
		return nil, err
	}
	e.buf = buf
	return buf, nil
}

// AppendFrames appends packets to buf as Frames has them. Where it fails buf is as it was.
func (e *Encoder) AppendFrames(buf []byte, packets []Packet) ([]byte, error) {
	if len(packets) == 0 {
		return buf, nil
	}
	limit := e.MaxFrame
	if limit == 0 {
		limit = MaxFrame
	}
	before := len(buf)
	frame, count := before, 0 // where the frame begins, and what it holds
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
		size := packetSize(p.Member, len(head)+len(payload))
		if need := 1 + protowire.SizeBytes(size); need > limit {
			return buf[:before], &ProtocolError{
				What: fmt.Sprintf("a packet of %d bytes", need), Bound: fmt.Sprintf("a frame has at most %d", limit),
				Remedy: "split the message",
			}
		} else if count > 0 && (count == MaxPackets || len(buf)-frame-lengthSize+need > limit) {
			seal(buf[frame:])
			frame, count = len(buf), 0
			buf = append(buf, make([]byte, lengthSize)...)
		}
		count++
		buf = protowire.AppendVarint(append(buf, framePackets), uint64(size))
		buf = appendPacket(buf, p.Member, tag, head, payload)
	}
	seal(buf[frame:])
	return buf, nil
}

// release lets go of large buffers, once what they hold was written.
func (e *Encoder) release() {
	if cap(e.buf) > keepBuffer {
		e.buf = nil
	}
	if cap(e.head) > keepBuffer {
		e.head = nil
	}
}

// seal writes the length of the last frame of a buffer, which begins at its start.
func seal(frame []byte) {
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-lengthSize))
}

func packetSize(member uint32, body int) int {
	size := 1 + protowire.SizeBytes(body)
	if member != 0 {
		size += 1 + protowire.SizeVarint(uint64(member))
	}
	return size
}

// appendPacket appends a packet whose body is a head and a payload, which is copied here and nowhere else.
func appendPacket(buf []byte, member uint32, tag byte, head, payload []byte) []byte {
	buf = appendNumber(buf, packetMember, uint64(member))
	buf = protowire.AppendVarint(append(buf, tag), uint64(len(head)+len(payload)))
	buf = slices.Grow(buf, len(head)+len(payload))
	return append(append(buf, head...), payload...)
}
