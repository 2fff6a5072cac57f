package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"metasim/lcm/bus"
	"metasim/metasim"
)

// atOnce is how many messages, with their companions, are given to the network in one call.
const atOnce = 128

// A sender publishes messages and their companions on the network.
type sender struct {
	*Config
	names map[route]string // the channels on the network; empty: LCM cannot carry it

	batch   []bus.Message
	events  []byte // the payloads of the companions
	shown   uint64
	refused uint64
}

// A route has one channel on the network.
type route struct {
	kind     int8
	from, to metasim.ClientID
	channel  string
}

// maxNames is how many routes are cached.
const maxNames = 1 << 18

func newSender(c *Config) sender { return sender{Config: c, names: map[route]string{}} }

// send shows messages.
func (s *sender) send(all []message) {
	for part := range slices.Chunk(all, atOnce) {
		s.part(part)
	}
}

func (s *sender) part(messages []message) {
	s.batch, s.events = s.batch[:0], s.events[:0]
	for i := range messages {
		v := &messages[i]
		recipient := ""
		if v.kind == delivered {
			recipient = s.Clients[v.to]
		}
		if name := s.name(v, recipient); name != "" {
			s.batch = append(s.batch, bus.Message{Channel: name, Payload: v.Payload, At: v.Due.Time})
		} else {
			s.refused++
		}
		start := len(s.events)
		s.events = appendEvent(s.events, v, s.Clients[v.From], recipient)
		s.batch = append(s.batch, bus.Message{
			Channel: eventChannel, Payload: s.events[start:len(s.events):len(s.events)], At: v.Due.Time, Unordered: true,
		})
	}
	if err := s.Bus.Publish(s.batch...); err != nil { // a payload too large for LCM would not fit a frame of wire either
		s.Log.Warn("a message cannot be shown", "why", err)
	}
	s.shown += uint64(len(messages))
	clear(s.batch)
}

// name returns the channel on which a message is shown, or "" if LCM cannot carry it.
func (s *sender) name(v *message, recipient string) string {
	r := route{v.kind, v.From, v.to, v.Channel}
	if name, known := s.names[r]; known {
		return name
	}
	name, err := s.Naming.Channel(v.Channel, s.Clients[v.From], recipient)
	if err != nil {
		s.Log.Warn("a channel is not shown on the public LCM network", "why", err)
	}
	if len(s.names) >= maxNames {
		clear(s.names)
	}
	s.names[r] = name
	return name
}

// eventChannel is the channel of the companions.
const eventChannel = "METASIM_EVENT"

// fingerprint identifies metasim.event_t to LCM: the hash that lcm-gen makes of event_t.lcm.
const fingerprint = 0x4eaf227edec29b34

// The kinds of event_t.
const (
	received  = 1
	delivered = 2
)

// A message is one message to be shown.
type message struct {
	metasim.Message
	kind int8
	to   metasim.ClientID // only if it was delivered
}

// appendEvent appends the companion of a message, in LCM's encoding.
func appendEvent(b []byte, s *message, sender, recipient string) []byte {
	b = binary.BigEndian.AppendUint64(b, fingerprint)
	b = append(b, byte(s.kind))
	b = appendString(b, sender)
	b = appendString(b, recipient)
	b = appendString(b, s.Channel)
	b = binary.BigEndian.AppendUint64(b, s.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Sent.Time))
	b = binary.BigEndian.AppendUint64(b, uint64(s.Sent.Step))
	b = binary.BigEndian.AppendUint64(b, uint64(s.Due.Time))
	b = binary.BigEndian.AppendUint64(b, uint64(s.Due.Step))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.Payload)))
	hash := sha256.Sum256(s.Payload)
	return append(b, hash[:8]...)
}

// appendString appends a string in LCM's encoding: its length with the final zero, the string, the zero.
func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)+1))
	return append(append(b, s...), 0)
}
