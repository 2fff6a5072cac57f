package wire

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Decoder turns frames into packets. The zero value is ready. Names that come again and again are kept once: one
// Decoder serves one connection. It is not safe for concurrent use.
type Decoder struct {
	packets []Packet
	names   map[string]string
}

// keepNames is how many names a Decoder remembers; a peer that invents more only loses the saving.
const keepNames = 4096

// Packets decodes one frame, without its length. The slice is valid until the next call; nothing of it points into
// the frame. Whatever comes is decoded or refused with a *ProtocolError.
func (d *Decoder) Packets(frame []byte) ([]Packet, error) {
	if len(frame) == 0 {
		return nil, &ProtocolError{What: "an empty frame", Bound: "a frame holds at least one packet", Remedy: speak}
	}
	clear(d.packets) // what was handed out may be large; do not keep it alive
	d.packets = d.packets[:0]
	for rest := frame; len(rest) > 0; {
		body, n := consumeField(rest, framePackets)
		if n < 0 {
			return nil, &ProtocolError{
				What:   fmt.Sprintf("a frame with %d bytes of something else at byte %d", len(rest), len(frame)-len(rest)),
				Bound:  "a frame holds whole packets and nothing more",
				Remedy: speak,
			}
		}
		if len(d.packets) == MaxPackets {
			return nil, &ProtocolError{
				What: "a frame of too many packets", Bound: fmt.Sprintf("a frame holds at most %d", MaxPackets),
				Remedy: "use more frames",
			}
		}
		p, err := d.packet(body)
		if err != nil {
			return nil, err
		}
		d.packets = append(d.packets, p)
		rest = rest[n:]
	}
	return d.packets, nil
}

// consumeField takes one length-delimited field of that number off b: its value, and how long it was in all; -1 where
// something else comes.
func consumeField(b []byte, want protowire.Number) ([]byte, int) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 || number != want || kind != protowire.BytesType {
		return nil, -1
	}
	value, m := protowire.ConsumeBytes(b[n:])
	if m < 0 {
		return nil, -1
	}
	return value, n + m
}

// packet decodes a Packet: a member, then a body.
func (d *Decoder) packet(b []byte) (Packet, error) {
	var member uint64
	rest := b
	if number, kind, n := protowire.ConsumeTag(b); n > 0 && number == packetMember && kind == protowire.VarintType {
		v, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			return Packet{}, broken("a packet whose member is no number")
		}
		member, rest = v, b[n+m:]
	}
	p := Packet{Member: uint32(member)}
	if member > math.MaxUint32 {
		return p, beyond("a member number", member)
	}
	if len(rest) == 0 {
		return p, &ProtocolError{
			What: fmt.Sprintf("a packet without a body (member %d)", member), Bound: "a packet has one", Remedy: speak,
		}
	}
	number, kind, n := protowire.ConsumeTag(rest)
	if n < 0 || kind != protowire.BytesType {
		return p, broken(fmt.Sprintf("a packet of member %d that cannot be read", member))
	}
	value, m := protowire.ConsumeBytes(rest[n:])
	if m < 0 || n+m != len(rest) {
		return p, broken(fmt.Sprintf("a packet of member %d with more or less than one body", member))
	}
	if large := number == packetSend || number == packetDeliver; len(value) > MaxControl && !large {
		return p, &ProtocolError{
			What:   fmt.Sprintf("a body of %d bytes in field %d", len(value), number),
			Bound:  fmt.Sprintf("only a message with a payload has more than %d", MaxControl),
			Remedy: "split it",
		}
	}
	var err error
	if p.Body, err = d.body(number, value); err != nil {
		return p, err
	}
	return p, Check(p)
}

// name returns the one copy of s that this connection keeps.
func (d *Decoder) name(s string) string {
	if kept, ok := d.names[s]; ok {
		return kept
	}
	if len(d.names) < keepNames && len(s) <= MaxName {
		if d.names == nil {
			d.names = make(map[string]string)
		}
		d.names[s] = s
	}
	return s
}

func broken(what string) error {
	return &ProtocolError{What: what, Bound: "a packet is a member and one body", Remedy: speak}
}

func beyond(what string, v uint64) error {
	return &ProtocolError{
		What: fmt.Sprintf("%s of %d", what, v), Bound: fmt.Sprintf("it has 32 bits, at most %d", uint32(math.MaxUint32)),
		Remedy: speak,
	}
}
