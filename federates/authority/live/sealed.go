package live

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/wire/transport/quic"
)

// Servers with homeservers sign and encrypt what they say to each other. A server makes a new key each time it starts, and registers it with its
// homeserver. After a restart, nobody can open what was sealed for the old key, and a message signed with the old key is refused.

// skew is how far the clocks of two servers may be apart.
const skew = metasim.Time(5 * time.Minute)

// transferChannel is where transfer messages are sealed for.
const transferChannel = "transfer"

// seal seals messages together. Without a homeserver nobody's key is known, and they go as they are.
func (s *sealing) seal(h *homeLink, to string, texts [][]byte) ([][]byte, error) {
	if h == nil {
		return texts, nil
	}
	if s.sealer == nil || s.with != s.to.key.ID {
		sealer, err := seal.NewSealer(seal.Link{Instance: h.cfg.Instance, Sender: h.self, Recipient: to, Channel: transferChannel}, h.key, s.to.key)
		if err != nil {
			return nil, err
		}
		s.sealer, s.with = sealer, s.to.key.ID
	}
	return s.sealer.SealAll(metasim.At(metasim.Time(time.Now().UnixNano())), texts)
}

// An UnsealedError: a server says something that is not signed, where all do.
type UnsealedError struct{ From string }

func (e *UnsealedError) Error() string {
	return fmt.Sprintf("what %s says is not signed by it; start it with --home, so that it is", e.From)
}

// open returns what has come from another server, opened if it is sealed. It is called from several goroutines at once, for each caller from one.
func (h *homeLink) open(ctx context.Context, q *quic.Caller, b []byte) []parcel {
	from, text, err := unpack(b)
	p := parcel{from: from, text: text, err: err, caller: q}
	if h == nil || err != nil || len(text) > 0 && text[0] == lookDatagram {
		return []parcel{p}
	}
	if len(text) > 0 && (text[0] == sightsDatagram || text[0] == pieceDatagram) {
		var counts bool
		if counts, p.err = callerOf(q).counts(q, from); !counts && p.err == nil {
			return nil
		}
		return []parcel{p}
	}
	if len(text) > 0 && text[0] == '{' {
		p.err = &UnsealedError{from}
		return []parcel{p}
	}
	o := h.opening(from)
	o.mu.Lock()
	defer o.mu.Unlock()
	all, err := h.openSealed(ctx, o, from, text)
	if err != nil {
		p.err = err
		return []parcel{p}
	}
	callerOf(q).name = from
	var out []parcel
	for _, m := range all {
		if string(m.Payload) == helloText {
			continue
		}
		p := parcel{from: from, sealed: true, caller: q}
		if p.says, p.err = transfer.Decode(m.Payload); p.err == nil {
			p.epoch, p.doubt = h.prove(ctx, o, from, &p.says)
		}
		out = append(out, p)
	}
	return out
}

func (h *homeLink) openSealed(ctx context.Context, o *opening, from string, text []byte) ([]seal.Message, error) {
	for again := false; ; again = true {
		if o.opener == nil || again {
			e, err := h.find(ctx, from, again)
			if err != nil {
				return nil, err
			}
			if o.opener == nil || e.key.ID != o.from.key.ID {
				key := e.key
				lookup := func(id string) (seal.PublicKey, bool) { return key, id == key.ID }
				o.from = e
				o.opener = seal.NewOpener(seal.Link{Instance: h.cfg.Instance, Sender: from, Recipient: h.self, Channel: transferChannel}, h.key, lookup, seal.Limits{Skew: skew, AnyOrder: true})
			}
		}
		all, err := o.opener.OpenAll(metasim.Time(time.Now().UnixNano()), text)
		if again || !errors.Is(err, seal.UnknownKey) {
			return all, err
		}
	}
}

func (h *homeLink) opening(from string) *opening {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.openings[from] == nil {
		h.openings[from] = &opening{}
	}
	return h.openings[from]
}

// pack puts the sender's name before a message.
func pack(from string, text ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(from)))
	return append(append(b, from...), text...)
}

// An UnnamedError: what came has no sender.
type UnnamedError struct{ Bytes int }

func (e *UnnamedError) Error() string {
	return fmt.Sprintf("%d bytes came without the name of a sender", e.Bytes)
}

func unpack(b []byte) (from string, text []byte, err error) {
	if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
		return "", nil, &UnnamedError{len(b)}
	}
	n := int(binary.BigEndian.Uint16(b))
	return string(b[2 : 2+n]), b[2+n:], nil
}
