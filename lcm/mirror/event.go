package mirror

import (
	"crypto/sha256"
	"encoding/binary"

	"metasim/metasim"
)

// EventChannel is where the companions are.
const EventChannel = "METASIM_EVENT"

// fingerprint is how LCM tells metasim.event_t from other types: a hash over event_t.lcm, as lcm-gen makes it.
const fingerprint = 0x4eaf227edec29b34

// The kinds of event_t.
const (
	received  = 1
	delivered = 2
)

// A sight is one message to be shown.
type sight struct {
	kind     int8
	from, to metasim.ClientID // to of what was delivered only
	seq      uint64
	channel  string
	sent     metasim.Instant
	due      metasim.Instant
	payload  []byte
}

// appendEvent appends the companion of a sight, in LCM's encoding.
func appendEvent(b []byte, s *sight, sender, recipient string) []byte {
	b = binary.BigEndian.AppendUint64(b, fingerprint)
	b = append(b, byte(s.kind))
	b = appendString(b, sender)
	b = appendString(b, recipient)
	b = appendString(b, s.channel)
	b = binary.BigEndian.AppendUint64(b, s.seq)
	b = binary.BigEndian.AppendUint64(b, uint64(s.sent.Time))
	b = binary.BigEndian.AppendUint64(b, uint64(s.sent.Step))
	b = binary.BigEndian.AppendUint64(b, uint64(s.due.Time))
	b = binary.BigEndian.AppendUint64(b, uint64(s.due.Step))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.payload)))
	hash := sha256.Sum256(s.payload)
	return append(b, hash[:8]...)
}

// appendString appends a text as LCM has it: its length with the final zero, then both.
func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)+1))
	return append(append(b, s...), 0)
}
