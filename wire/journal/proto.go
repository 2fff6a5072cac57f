package journal

import (
	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// open begins a message as field num. What is appended from at on is its body; shut completes it.
func open(b []byte, num protowire.Number) (grown []byte, at int) {
	b = append(protowire.AppendTag(b, num, protowire.BytesType), 0)
	return b, len(b)
}

// shut writes the length of the message that was opened at. One byte was kept for it; only a longer one moves the
// body.
func shut(b []byte, at int) []byte {
	n := len(b) - at
	if extra := protowire.SizeVarint(uint64(n)) - 1; extra > 0 {
		b = append(b, make([]byte, extra)...)
		copy(b[at+extra:], b[at:at+n])
	}
	protowire.AppendVarint(b[:at-1], uint64(n)) // in place
	return b
}

func appendVarint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func appendBool(b []byte, num protowire.Number, v bool) []byte {
	return appendVarint(b, num, protowire.EncodeBool(v))
}

func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

func appendBytes(b []byte, num protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func appendInstant(b []byte, num protowire.Number, i metasim.Instant) []byte {
	if i == metasim.Start {
		return b
	}
	b, at := open(b, num)
	b = appendVarint(b, 1, uint64(i.Time))
	b = appendVarint(b, 2, uint64(i.Step))
	return shut(b, at)
}
