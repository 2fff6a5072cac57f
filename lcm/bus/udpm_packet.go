package bus

import (
	"bytes"
	"encoding/binary"

	"metasim/lcm/names"
)

const (
	shortMagic    = 0x4c433032 // "LC02"
	fragmentMagic = 0x4c433033 // "LC03"

	shortHeader    = 8
	fragmentHeader = 20

	maxShort     = 65499 // bytes of channel, zero and payload in a datagram of its own
	maxFragment  = 65487 // bytes after the header of a fragment
	maxFragments = 65535
	maxHead      = fragmentHeader + names.MaxChannel + 1 // bytes of a datagram before the payload, at most

	selfTest = "LCM_SELF_TEST" // the channel on which liblcm sends to itself when it begins to receive
)

// A datagram to be sent: the head is in memory of the sender, the body is a part of the payload.
type datagram struct {
	head, body []byte
	seq        uint32
}

func (d *datagram) size() int { return len(d.head) + len(d.body) }

// appendDatagrams appends the datagrams of a message, at most room of them, from number first on. Their heads are appended to
// arena, which must have room*maxHead bytes of capacity left. next is the number of the next datagram, or 0 at the end.
func appendDatagrams(ds []datagram, arena []byte, m *Message, seq uint32, first, room int) (_ []datagram, _ []byte, next int) {
	named := len(m.Channel) + 1
	size := named + len(m.Payload)
	start := len(arena)
	if size <= maxShort {
		arena = binary.BigEndian.AppendUint32(arena, shortMagic)
		arena = binary.BigEndian.AppendUint32(arena, seq)
		arena = append(append(arena, m.Channel...), 0)
		return append(ds, datagram{arena[start:len(arena):len(arena)], m.Payload, seq}), arena, 0
	}
	count := (size + maxFragment - 1) / maxFragment
	for n := first; n < count; n++ {
		if n-first == room {
			return ds, arena, n
		}
		offset, until := n*maxFragment-named, min((n+1)*maxFragment-named, len(m.Payload))
		start, offset = len(arena), max(0, offset)
		arena = binary.BigEndian.AppendUint32(arena, fragmentMagic)
		arena = binary.BigEndian.AppendUint32(arena, seq)
		arena = binary.BigEndian.AppendUint32(arena, uint32(len(m.Payload)))
		arena = binary.BigEndian.AppendUint32(arena, uint32(offset))
		arena = binary.BigEndian.AppendUint16(arena, uint16(n))
		arena = binary.BigEndian.AppendUint16(arena, uint16(count))
		if n == 0 {
			arena = append(append(arena, m.Channel...), 0)
		}
		ds = append(ds, datagram{arena[start:len(arena):len(arena)], m.Payload[offset:until], seq})
	}
	return ds, arena, 0
}

// A packet is a datagram that was received.
type packet struct {
	seq     uint32
	channel string // of a short message, and of fragment 0
	payload []byte // a part of the datagram
	// The rest is for a fragment only.
	size, offset, number int
	count                int // 0: a short message
}

// parsePacket parses a datagram. It assumes no size of fragments: senders differ, for example on macOS.
func parsePacket(b []byte) (p packet, ok bool) {
	if len(b) < shortHeader {
		return p, false
	}
	p.seq = binary.BigEndian.Uint32(b[4:])
	switch magic := binary.BigEndian.Uint32(b); {
	case magic == shortMagic:
		p.channel, p.payload, ok = cutChannel(b[shortHeader:])
		return p, ok
	case magic != fragmentMagic || len(b) < fragmentHeader:
		return p, false
	}
	p.size = int(binary.BigEndian.Uint32(b[8:]))
	p.offset = int(binary.BigEndian.Uint32(b[12:]))
	p.number = int(binary.BigEndian.Uint16(b[16:]))
	p.count = int(binary.BigEndian.Uint16(b[18:]))
	p.payload, ok = b[fragmentHeader:], true
	if p.number == 0 {
		p.channel, p.payload, ok = cutChannel(p.payload)
	}
	return p, ok && p.number < p.count && p.offset+len(p.payload) <= p.size
}

// cutChannel splits the channel from what follows it.
func cutChannel(b []byte) (channel string, payload []byte, ok bool) {
	end := bytes.IndexByte(b[:min(len(b), names.MaxChannel+1)], 0)
	if end < 1 {
		return "", nil, false
	}
	return string(b[:end]), b[end+1:], true
}
