package wire

import (
	"fmt"
	"math"
)

// A Decoder turns frames into packets. The zero value is ready. One Decoder serves one connection: it keeps one copy of
// each name. It is not safe for concurrent use.
type Decoder struct {
	packets []Packet
	bodies  bodyDecoder
}

// Packets decodes one frame, without its length. The slice and its bodies are valid until the next call, payloads stay
// valid; nothing points into the frame. Any bytes are either decoded or refused with a *ProtocolError.
func (d *Decoder) Packets(frame []byte) ([]Packet, error) {
	d.reclaim()
	if err := d.add(frame); err != nil {
		return nil, err
	}
	return d.packets, nil
}

// add decodes one more frame and appends its packets to the others, or none of them if it fails.
func (d *Decoder) add(frame []byte) error {
	before := len(d.packets)
	err := d.frame(frame)
	if err != nil {
		clear(d.packets[before:])
		d.packets = d.packets[:before]
	}
	return err
}

func (d *Decoder) frame(frame []byte) error {
	if len(frame) == 0 {
		return protocolError("an empty frame", "a frame holds at least one packet", speak)
	}
	full := len(d.packets) + MaxPackets
	for c := read(frame, "Frame"); c.next < len(frame); {
		at := c.next
		c.more()
		body := c.bytes()
		if c.err != nil || c.tag != framePackets {
			return protocolError(fmt.Sprintf("a frame with %d bytes of something else at byte %d", len(frame)-at, at),
				"a frame holds whole packets and nothing more", speak)
		}
		if len(d.packets) == full {
			return protocolError("a frame of too many packets", fmt.Sprintf("a frame holds at most %d", MaxPackets),
				"use more frames")
		}
		p, err := d.packet(body)
		if err != nil {
			return err
		}
		d.packets = append(d.packets, p)
	}
	return nil
}

// reclaim takes back what Packets lent, and frees what it points to, which may be large.
func (d *Decoder) reclaim() {
	clear(d.packets)
	d.packets = d.packets[:0]
	d.bodies.reclaim()
}

// packet decodes a Packet: a member, then a body.
func (d *Decoder) packet(b []byte) (Packet, error) {
	var member uint64
	c := read(b, "Packet")
	if c.more() && c.tag == packetMember {
		if member = c.number(); c.err != nil {
			return Packet{}, malformed("a packet whose member is no number")
		}
		c.more()
	}
	p := Packet{Member: uint32(member)}
	if member > math.MaxUint32 {
		return p, tooLarge("a member number", member)
	}
	if c.err == nil && c.next == len(b) && (len(b) == 0 || c.tag == packetMember) {
		return p, protocolError(fmt.Sprintf("a packet without a body (member %d)", member), "a packet has one", speak)
	}
	if c.err != nil || c.tag&7 != counted {
		return p, malformed(fmt.Sprintf("a packet of member %d that cannot be read", member))
	}
	value := c.bytes()
	if c.err != nil || c.next < len(b) {
		return p, malformed(fmt.Sprintf("a packet of member %d with more or less than one body", member))
	}
	if large := c.tag == packetSend || c.tag == packetDeliver || c.tag == packetCheckpoint; len(value) > MaxControl && !large {
		return p, protocolError(fmt.Sprintf("a body of %d bytes in field %d", len(value), c.tag>>3),
			fmt.Sprintf("only a message with a payload has more than %d", MaxControl), "split it")
	}
	var err error
	p.Body, err = d.bodies.body(c.tag, value)
	return p, err
}

// take is Packets for a frame that the caller may give away. kept reports that a payload points into the frame.
func (d *Decoder) take(frame []byte) (packets []Packet, kept bool, err error) {
	m := &d.bodies.memory
	m.ownFrame, m.gaveFrame = cap(frame), false
	packets, err = d.Packets(frame)
	m.ownFrame = 0
	return packets, m.gaveFrame, err
}
