package wire

import (
	"fmt"
	"math"
	"unicode/utf8"

	"metasim/metasim"
)

// A Decoder turns frames into packets. The zero value is ready. Names that come again and again are kept once: one
// Decoder serves one connection. It is not safe for concurrent use.
type Decoder struct {
	packets []Packet
	names   map[string]string

	sends          slab[metasim.Send]
	deliveries     slab[metasim.Deliver]
	promises       last[metasim.Promise]
	advances       last[metasim.Advance]
	polls          last[metasim.PollWait]
	authorizations last[metasim.Authorize]

	small     []byte // the rest of the memory for small payloads
	slab      int    // how much that was
	ownFrame  int    // the memory that the frame takes, where payloads may keep it; otherwise 0
	gaveFrame bool   // and one does
}

// keepNames is how many names a Decoder remembers; a peer that invents more only loses the saving.
const keepNames = 4096

// Packets decodes one frame, without its length. The slice and its bodies are valid until the next call, payloads for
// good; nothing of it points into the frame. Whatever comes is decoded or refused with a *ProtocolError.
func (d *Decoder) Packets(frame []byte) ([]Packet, error) {
	d.reclaim()
	if err := d.add(frame); err != nil {
		return nil, err
	}
	return d.packets, nil
}

// add decodes one more frame, the packets of which follow the others. Where it fails there is nothing of it.
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
		return &ProtocolError{What: "an empty frame", Bound: "a frame holds at least one packet", Remedy: speak}
	}
	full := len(d.packets) + MaxPackets
	for c := read(frame, "Frame"); c.next < len(frame); {
		at := c.next
		c.more()
		body := c.bytes()
		if c.err != nil || c.tag != framePackets {
			return &ProtocolError{
				What:   fmt.Sprintf("a frame with %d bytes of something else at byte %d", len(frame)-at, at),
				Bound:  "a frame holds whole packets and nothing more",
				Remedy: speak,
			}
		}
		if len(d.packets) == full {
			return &ProtocolError{
				What: "a frame of too many packets", Bound: fmt.Sprintf("a frame holds at most %d", MaxPackets),
				Remedy: "use more frames",
			}
		}
		p, err := d.packet(body)
		if err != nil {
			return err
		}
		d.packets = append(d.packets, p)
	}
	return nil
}

// reclaim takes back what was handed out: it may be large, and is not to be kept alive.
func (d *Decoder) reclaim() {
	clear(d.packets)
	d.packets = d.packets[:0]
	d.sends.reclaim()
	d.deliveries.reclaim()
	d.promises.reclaim()
	d.advances.reclaim()
	d.polls.reclaim()
	d.authorizations.reclaim()
}

// packet decodes a Packet: a member, then a body.
func (d *Decoder) packet(b []byte) (Packet, error) {
	var member uint64
	c := read(b, "Packet")
	if c.more() && c.tag == packetMember {
		if member = c.number(); c.err != nil {
			return Packet{}, broken("a packet whose member is no number")
		}
		c.more()
	}
	p := Packet{Member: uint32(member)}
	if member > math.MaxUint32 {
		return p, beyond("a member number", member)
	}
	if c.err == nil && c.next == len(b) && (len(b) == 0 || c.tag == packetMember) {
		return p, &ProtocolError{
			What: fmt.Sprintf("a packet without a body (member %d)", member), Bound: "a packet has one", Remedy: speak,
		}
	}
	if c.err != nil || c.tag&7 != counted {
		return p, broken(fmt.Sprintf("a packet of member %d that cannot be read", member))
	}
	value := c.bytes()
	if c.err != nil || c.next < len(b) {
		return p, broken(fmt.Sprintf("a packet of member %d with more or less than one body", member))
	}
	if large := c.tag == packetSend || c.tag == packetDeliver; len(value) > MaxControl && !large {
		return p, &ProtocolError{
			What:   fmt.Sprintf("a body of %d bytes in field %d", len(value), c.tag>>3),
			Bound:  fmt.Sprintf("only a message with a payload has more than %d", MaxControl),
			Remedy: "split it",
		}
	}
	var err error
	p.Body, err = d.body(c.tag, value)
	return p, err
}

// take decodes a frame that the caller gives away: it reports whether a payload keeps it.
func (d *Decoder) take(frame []byte) (packets []Packet, kept bool, err error) {
	d.ownFrame, d.gaveFrame = cap(frame), false
	packets, err = d.Packets(frame)
	d.ownFrame = 0
	return packets, d.gaveFrame, err
}

// A slab lends memory for values of one type, and takes all of it back at once.
type slab[T any] struct{ lent []T }

// lend returns the memory of a zero value.
func (s *slab[T]) lend() *T {
	if len(s.lent) == cap(s.lent) {
		s.lent = make([]T, 0, max(1, 2*cap(s.lent))) // what was lent before stays where it is
	}
	s.lent = s.lent[:len(s.lent)+1]
	return &s.lent[len(s.lent)-1]
}

// reclaim keeps the memory, unless a frame out of the common made it large: there may be thousands of connections.
func (s *slab[T]) reclaim() {
	if cap(s.lent) > keepLent {
		s.lent = nil
		return
	}
	clear(s.lent)
	s.lent = s.lent[:0]
}

const keepLent = 1 << 10

// maxShort is more than the longest body without a payload takes, unless somebody pads it.
const maxShort = 128

// name reads a name, and returns the one copy of it that this connection keeps.
func (d *Decoder) name(c *cursor) string {
	b := c.bytes()
	if kept, ok := d.names[string(b)]; ok {
		return kept
	}
	if !utf8.Valid(b) {
		c.fail(unreadable(c.message, fmt.Errorf("a name of %d bytes is no UTF-8", len(b))))
		return ""
	}
	s := string(b)
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
