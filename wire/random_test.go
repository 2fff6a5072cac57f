package wire_test

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"metasim/wire/wirepb"
)

// hotFields are the bodies that the codec parses by hand, by their field of a packet.
var hotFields = map[protowire.Number]protoreflect.MessageDescriptor{
	7:  (*wirepb.SendMessage)(nil).ProtoReflect().Descriptor(),
	8:  (*wirepb.PromiseNoSend)(nil).ProtoReflect().Descriptor(),
	9:  (*wirepb.NotifyAdvance)(nil).ProtoReflect().Descriptor(),
	10: (*wirepb.PollWait)(nil).ProtoReflect().Descriptor(),
	11: (*wirepb.Leave)(nil).ProtoReflect().Descriptor(),
	12: (*wirepb.DeliveredMessage)(nil).ProtoReflect().Descriptor(),
	13: (*wirepb.AuthorizeAdvance)(nil).ProtoReflect().Descriptor(),
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// message draws a message that a protobuf encoder might write: fields in any order, more than once, numbers longer than
// necessary, and sometimes an unknown field or a wrong value.
func message(t *rapid.T, of protoreflect.MessageDescriptor) []byte {
	var b []byte
	for range rapid.IntRange(0, 5).Draw(t, "fields") {
		if rapid.IntRange(0, 30).Draw(t, "stranger") == 0 {
			b = stranger(t, b)
			continue
		}
		f := of.Fields().Get(rapid.IntRange(0, of.Fields().Len()-1).Draw(t, "field"))
		switch f.Kind() {
		case protoreflect.MessageKind:
			b = counted(t, b, f.Number(), message(t, f.Message()))
		case protoreflect.StringKind:
			b = counted(t, b, f.Number(), []byte(rapid.SampledFrom(names).Draw(t, "name")))
		case protoreflect.BytesKind:
			b = counted(t, b, f.Number(), rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes"))
		default:
			b = number(t, b, uint64(f.Number())<<3)
			b = number(t, b, rapid.SampledFrom(numbers).Draw(t, "number"))
		}
	}
	return b
}

var names = []string{"", "A", "A", "ROBOT_STATE", "ROBOT_STATE", "é", "\xff", "ROBOT\x80"}

var numbers = []uint64{
	0, 0, 0, 0, 1, 1, 2, 7, 127, 128, 5_000_000, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxInt64 + 1,
	math.MaxUint64,
}

// number appends a number, sometimes with redundant bytes.
func number(t *rapid.T, b []byte, v uint64) []byte {
	b = protowire.AppendVarint(b, v)
	for range rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 9}).Draw(t, "padding") {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

func counted(t *rapid.T, b []byte, field protowire.Number, v []byte) []byte {
	b = number(t, b, uint64(field)<<3|uint64(protowire.BytesType))
	return append(number(t, b, uint64(len(v))), v...)
}

// stranger appends a field of any number and kind, with some value.
func stranger(t *rapid.T, b []byte) []byte {
	field := rapid.SampledFrom([]uint64{0, 1, 2, 3, 4, 7, 8, 15, 16, 1<<29 - 1, 1 << 29, 1 << 40}).Draw(t, "field")
	b = number(t, b, field<<3|rapid.Uint64Range(0, 7).Draw(t, "kind"))
	return append(b, rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "value")...)
}

// damaged returns b, sometimes cut or with one bit changed.
func damaged(t *rapid.T, b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
	switch rapid.IntRange(0, 7).Draw(t, "damage") {
	case 0:
		return b[:at]
	case 1:
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	}
	return b
}
