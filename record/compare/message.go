package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"metasim/metasim"
	"metasim/record/journal"
)

// A Message is one side of a divergence.
type Message struct {
	From    string   `json:"from"`
	Channel string   `json:"channel"` // empty for a leave
	Seq     uint64   `json:"seq"`     // counts the sender's publishes, from 0
	Sent    Instant  `json:"sent"`
	Due     *Instant `json:"due"` // nil: what was delivered to nobody
	Size    int      `json:"size"`
	Payload []byte   `json:"payload"` // base64 in JSON; of a leave, its result
	// Type and Decoded are there where the payload is of a known LCM type.
	Type    string          `json:"type,omitempty"`
	Decoded json.RawMessage `json:"decoded,omitempty"`

	at metasim.Instant // when it is due, or else sent
}

// message finds and shows an item.
func (c *comparison) message(of *side, i *item, delivered bool) (*Message, error) {
	m := &Message{From: of.manifest.Clients[i.from], Seq: i.seq, at: i.when, Payload: []byte{}}
	if delivered {
		due := Instant(i.when)
		m.Due = &due
	}
	ev, err := of.find(i.from, i.seq)
	if err != nil {
		return nil, err
	}
	switch ev := ev.(type) {
	case *metasim.Send:
		m.Channel, m.Sent = ev.Channel, Instant(ev.Sent)
		m.Payload = append(m.Payload, ev.Payload...)
	case *metasim.Leave:
		m.Sent = Instant(ev.Now)
		m.Payload = append(m.Payload, ev.Result...)
	}
	m.Size = len(m.Payload)
	if c.types == nil || m.Channel == "" {
		return m, nil
	}
	for _, t := range c.types.Of(m.Payload) {
		if text, err := t.AppendJSON(nil, m.Payload); err == nil {
			m.Type, m.Decoded = t.Name, text
			break
		}
	}
	return m, nil
}

// find returns what a client sent under a number, or its leave.
func (s *side) find(from metasim.ClientID, seq uint64) (metasim.Event, error) {
	count, offset := s.index.Clients[from].Outputs.Before(seq)
	scanner, err := s.dir.Scan(offset)
	if err != nil {
		return nil, err
	}
	defer func() { _ = scanner.Close() }() // a file that was only read
	for {
		news, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: the journal does not hold message %d of %q, which was delivered", s.dir.Path(), seq, s.manifest.Clients[from])
		}
		if err != nil {
			return nil, err
		}
		if id, ok := journal.Speaker(news.Event); !ok || id != from || journal.Hash(news.Event) == 0 {
			continue
		}
		if count == seq {
			return news.Event, nil
		}
		count++
	}
}

// shown is how many bytes of a payload are shown.
const shown = 32

// Describe says in a line what a message is; if both are long, from the first byte on in which it differs from other.
func (m *Message) Describe(other *Message) string {
	if m == nil {
		return "nothing"
	}
	text := fmt.Sprintf("message %d of %s, sent %v", m.Seq, m.From, m.Sent)
	switch {
	case m.Channel == "":
		text = fmt.Sprintf("%s leaves at %v", m.From, m.Sent)
	case m.Due != nil:
		text += fmt.Sprintf(", due %v", m.Due)
	}
	if m.Decoded != nil {
		return fmt.Sprintf("%s: %s %s", text, m.Type, m.Decoded)
	}
	from := 0
	if other != nil && max(m.Size, other.Size) > shown {
		for from < min(m.Size, other.Size) && m.Payload[from] == other.Payload[from] {
			from++
		}
	}
	if from == m.Size && m.Size > shown { // the same as far as it goes
		from = 0
	}
	end := min(m.Size, from+shown)
	switch {
	case from > 0:
		return fmt.Sprintf("%s: %d bytes, from byte %d on %q", text, m.Size, from, m.Payload[from:end])
	case end < m.Size:
		return fmt.Sprintf("%s: %d bytes, first %q", text, m.Size, m.Payload[:end])
	}
	return fmt.Sprintf("%s: %q", text, m.Payload)
}
