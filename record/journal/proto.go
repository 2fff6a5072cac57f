package journal

import (
	"encoding/binary"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// The numbers of all fields are below 16, so that a tag is one byte; the generated code, which reads all of it in a test, would notice.

func varintTag(num protowire.Number) byte { return byte(num<<3) | byte(protowire.VarintType) }
func bytesTag(num protowire.Number) byte  { return byte(num<<3) | byte(protowire.BytesType) }

// open begins a message as field num. What is appended from at on is its body; shut completes it.
func open(b []byte, num protowire.Number) (grown []byte, at int) {
	b = append(b, bytesTag(num), 0)
	return b, len(b)
}

// shut writes the length of the message that was opened at. One byte was kept for it; only a longer one moves the
// body.
func shut(b []byte, at int) []byte {
	n := len(b) - at
	if n < 0x80 {
		b[at-1] = byte(n)
		return b
	}
	extra := protowire.SizeVarint(uint64(n)) - 1
	b = append(b, make([]byte, extra)...)
	copy(b[at+extra:], b[at:at+n])
	protowire.AppendVarint(b[:at-1], uint64(n)) // in place
	return b
}

func appendVarint(b []byte, num protowire.Number, v uint64) []byte {
	switch {
	case v == 0:
		return b
	case v < 0x80:
		return append(b, varintTag(num), byte(v))
	}
	return appendLong(append(b, varintTag(num)), v)
}

// appendLong appends a varint. Up to eight bytes are made at once: the groups of seven bits are spread by halves, 28
// bits to four bytes, 14 to two, 7 to one.
func appendLong(b []byte, v uint64) []byte {
	if v >= 1<<56 {
		return protowire.AppendVarint(b, v)
	}
	n := (bits.Len64(v|1) + 6) / 7
	v = v&0x000000000fffffff | v&0x00fffffff0000000<<4
	v = v&0x00003fff00003fff | v&0x0fffc0000fffc000<<2
	v = v&0x007f007f007f007f | v&0x3f803f803f803f80<<1
	v |= 0x8080808080808080 & (1<<(8*(n-1)) - 1)
	return binary.LittleEndian.AppendUint64(b, v)[:len(b)+n]
}

func appendBool(b []byte, num protowire.Number, v bool) []byte {
	return appendVarint(b, num, protowire.EncodeBool(v))
}

func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(append(b, bytesTag(num)), s)
}

func appendBytes(b []byte, num protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(append(b, bytesTag(num)), v)
}

// infinity is the Instant that many wait for.
const infinity = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\xff\xff\xff\xff\x0f"

func appendInstant(b []byte, num protowire.Number, i metasim.Instant) []byte {
	switch i {
	case metasim.Start:
		return b
	case metasim.Infinity:
		return append(append(b, bytesTag(num), byte(len(infinity))), infinity...)
	}
	b = append(b, bytesTag(num), 0) // at most 17 bytes follow
	at := len(b)
	b = appendVarint(b, 1, uint64(i.Time))
	b = appendVarint(b, 2, uint64(i.Step))
	b[at-1] = byte(len(b) - at)
	return b
}
