package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"metasim/record/journal/journalpb"
)

// This file makes journals whose checksums are right and whose content is not. A recipe of bytes, which a fuzzer can change, says what
// is changed in a journal that a run has left.

// The frame of a journal, as package journal describes it.
const (
	headerSize = 12
	frameSize  = 8
)

// damageJournal changes a good journal as a recipe says: each of its steps changes a field, or drops, repeats, moves or mixes records.
func damageJournal(good, recipe []byte) ([]byte, error) {
	records, err := parseRecords(good)
	if err != nil {
		return nil, err
	}
	for c := (cook{rest: recipe}); len(c.rest) > 0 && len(records) > 0; {
		records = c.step(records)
	}
	out := append([]byte(nil), good[:headerSize]...)
	for _, r := range records {
		body, err := encodeRecord(r)
		if err != nil {
			return nil, err
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		out = append(out, body...)
	}
	return out, nil
}

func parseRecords(good []byte) (records []*journalpb.Record, err error) {
	for rest := good[headerSize:]; len(rest) > 0; {
		n := binary.LittleEndian.Uint32(rest)
		r := new(journalpb.Record)
		if err := proto.Unmarshal(rest[frameSize:][:n], r); err != nil {
			return nil, fmt.Errorf("the journal to be damaged is damaged: %w", err)
		}
		records, rest = append(records, r), rest[frameSize+n:]
	}
	return records, nil
}

// encodeRecord writes a record as a journal has it: its kind first, and its effects last.
func encodeRecord(r *journalpb.Record) ([]byte, error) {
	b := protowire.AppendVarint([]byte{1 << 3}, uint64(uint32(r.Kind)))
	head := proto.Clone(r).(*journalpb.Record)
	head.Kind, head.Effects = 0, nil
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, head)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, &journalpb.Record{Effects: r.Effects})
}

// A cook reads a recipe. After its end all numbers are 0.
type cook struct{ rest []byte }

func (c *cook) next() int {
	if len(c.rest) == 0 {
		return 0
	}
	v := c.rest[0]
	c.rest = c.rest[1:]
	return int(v)
}

// below returns a number below n, which is positive.
func (c *cook) below(n int) int { return (c.next()<<8 | c.next()) % n }

// step does one step of the recipe.
func (c *cook) step(records []*journalpb.Record) []*journalpb.Record {
	kind, i, j := c.next(), c.below(len(records)), 0
	r := records[i]
	switch kind % 8 {
	case 0: // most of the steps that a fuzzer finds change a field
		c.change(r.ProtoReflect())
		return records
	case 1:
		return append(records[:i:i], records[i+1:]...)
	case 2:
		j = c.below(len(records))
		return append(records[:j:j], append([]*journalpb.Record{proto.Clone(r).(*journalpb.Record)}, records[j:]...)...)
	case 3:
		j = c.below(len(records))
		records[i], records[j] = records[j], r
	case 4: // an effect of another record
		other := records[c.below(len(records))]
		if n := len(other.Effects); n > 0 {
			r.Effects = append(r.Effects, proto.Clone(other.Effects[c.below(n)]).(*journalpb.Effect))
		}
	case 5: // the event of another record
		other := proto.Clone(records[c.below(len(records))]).(*journalpb.Record)
		r.Kind, r.Event = other.Kind, other.Event
	case 6:
		return records[:i]
	case 7:
		if n := len(r.Effects); n > 0 {
			j = c.below(n)
			r.Effects = append(r.Effects[:j:j], r.Effects[j+1:]...)
		}
	}
	return records
}

// change changes a field somewhere in a message, or makes or clears one.
func (c *cook) change(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	var set []protoreflect.FieldDescriptor // messages that are there
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Kind() == protoreflect.MessageKind && m.Has(f) {
			set = append(set, f)
		}
	}
	if len(set) > 0 && c.next()%4 > 0 { // go on inside
		f := set[c.below(len(set))]
		if f.IsList() {
			list := m.Mutable(f).List()
			c.change(list.Get(c.below(list.Len())).Message())
		} else {
			c.change(m.Mutable(f).Message())
		}
		return
	}
	if fields.Len() == 0 {
		return
	}
	f := fields.Get(c.below(fields.Len()))
	switch {
	case c.next()%8 == 7:
		m.Clear(f)
	case f.IsList() && f.Kind() == protoreflect.MessageKind:
		m.Mutable(f).List().AppendMutable()
	case f.IsList():
		m.Mutable(f).List().Append(protoreflect.ValueOfBytes(c.bytes()))
	case f.Kind() == protoreflect.MessageKind:
		m.Mutable(f)
	case f.Kind() == protoreflect.BytesKind:
		m.Set(f, protoreflect.ValueOfBytes(c.bytes()))
	default:
		c.number(m, f)
	}
}

// number sets a number: near what it was, or at an end of its range.
func (c *cook) number(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	old := m.Get(f).Interface()
	pick := func(old uint64) uint64 {
		ends := []uint64{0, 1, old + 1, old - 1, 2 * old, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MaxInt64 - 1, 1 << 63, math.MaxUint64}
		if i := c.next() % (len(ends) + 1); i < len(ends) {
			return ends[i]
		}
		return uint64(c.next())
	}
	switch old := old.(type) {
	case int64:
		m.Set(f, protoreflect.ValueOfInt64(int64(pick(uint64(old)))))
	case uint64:
		m.Set(f, protoreflect.ValueOfUint64(pick(old)))
	case uint32:
		m.Set(f, protoreflect.ValueOfUint32(uint32(pick(uint64(old)))))
	case bool:
		m.Set(f, protoreflect.ValueOfBool(!old))
	case protoreflect.EnumNumber:
		m.Set(f, protoreflect.ValueOfEnum(protoreflect.EnumNumber(c.next()%5)))
	}
}

// bytes returns a text: one that a run may have, or one that it may not.
func (c *cook) bytes() []byte {
	texts := []string{"", "A", "B", "PING", "\xff\xfe", "\x1b[2J\n", `{"sent":1}`, "{"}
	return []byte(texts[c.next()%len(texts)])
}
