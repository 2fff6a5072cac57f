package metasim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"metasim/internal/foldhash"
)

// Digest is a SHA-256, as design section 4.2 defines it.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// A Hashing is a message that a digest takes in: a send, or what a client has handled.
type Hashing struct {
	client  ClientID
	sent    bool
	message Message // of a send its instant, channel and payload
}

// Size is how many bytes it has the longest part of.
func (h *Hashing) Size() int { return len(h.message.Payload) }

// Sent reports whether it is a send.
func (h *Hashing) Sent() bool { return h.sent }

// hashes are what the digests of a run are computed from.
type hashes struct {
	names   []string
	chains  []hash.Cloner // of what each client has handled
	sends   []uint64      // of what each client has sent
	scratch []byte
	shared  sharedHashes
}

func newHashes(names []string) hashes {
	h := hashes{names: names, chains: make([]hash.Cloner, len(names)), sends: make([]uint64, len(names))}
	for i := range names {
		h.chains[i], h.sends[i] = newChain(), foldhash.Seed
	}
	return h
}

// add takes a message in.
func (h *hashes) add(x *Hashing) {
	m := &x.message
	if x.sent {
		h.sends[x.client] = foldhash.Word(h.sends[x.client], HashSend(m.Sent, m.Channel, m.Payload))
		return
	}
	chain := &h.chains[x.client]
	h.scratch = h.appendDelivery(h.scratch[:0], m)
	if len(m.Payload) < leastShared {
		h.scratch = append(h.scratch, m.Payload...)
	}
	(*chain).Write(h.scratch) // a hash never fails
	if len(m.Payload) >= leastShared {
		*chain = h.shared.hash(*chain, m)
	}
}

// appendDelivery is what a client's digest hashes of one delivery, before its payload: instants, then sender, channel and payload, each
// with its length; little-endian.
func (h *hashes) appendDelivery(b []byte, m *Message) []byte {
	b = appendInstant(b, m.Due)
	b = appendInstant(b, m.Sent)
	sender := h.names[m.From]
	b = binary.LittleEndian.AppendUint32(b, uint32(len(sender)))
	b = append(b, sender...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Channel)))
	b = append(b, m.Channel...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(m.Payload)))
}

func appendInstant(b []byte, i Instant) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(i.Time))
	return binary.LittleEndian.AppendUint32(b, i.Step)
}

// client returns the digest of what a client has handled.
func (h *hashes) client(id ClientID) Digest { return Digest(h.chains[id].Sum(nil)) }

// HashSend is the hash of a send: its instant, channel and payload.
func HashSend(sent Instant, channel string, payload []byte) uint64 {
	h := foldhash.Word(foldhash.Word(foldhash.Seed, uint64(sent.Time)), uint64(sent.Step))
	return foldhash.Bytes(foldhash.Bytes(h, channel), payload)
}
