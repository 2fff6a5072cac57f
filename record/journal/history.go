package journal

import (
	"encoding/binary"
	"math/bits"

	"metasim/metasim"
)

// A History is a rolling hash of what one client received, or of what it sent. After n items two runs have the same hash only if
// they have the same items. Some of the hashes are kept as checkpoints, so that the place where two runs begin to differ is found
// without reading either.
type History struct {
	Count uint64          // items
	Hash  uint64          // after all of them
	At    metasim.Instant // of the last one: when a message was sent, or is due
	// Every is how many items lie between two checkpoints: a power of two times firstEvery.
	Every       uint64
	Checkpoints []Checkpoint // the one at i is after (i+1)*Every items
}

// A Checkpoint is a History after some of its items.
type Checkpoint struct {
	Hash   uint64
	At     metasim.Instant // of the last of the items
	Offset int64           // in the journal, of the record that has the last of the items
}

// A history begins with a checkpoint every firstEvery items. When it has maxCheckpoints it drops every other one. So an index is
// small however long a run is, and of two histories the one with fewer checkpoints has none that the other lacks.
const (
	firstEvery     = 16
	maxCheckpoints = 512
)

// add adds an item.
func (h *History) add(item uint64, at metasim.Instant, offset int64) {
	h.Count++
	h.Hash, h.At = fold(h.Hash, item), at
	if h.Count&(h.Every-1) != 0 {
		return
	}
	h.Checkpoints = append(h.Checkpoints, Checkpoint{Hash: h.Hash, At: at, Offset: offset})
	if len(h.Checkpoints) < maxCheckpoints {
		return
	}
	kept := h.Checkpoints[:0]
	for i := 1; i < maxCheckpoints; i += 2 {
		kept = append(kept, h.Checkpoints[i])
	}
	h.Checkpoints, h.Every = kept, 2*h.Every
}

// after returns the checkpoint after n items, which is a multiple of Every: the zero Checkpoint after none.
func (h *History) after(n uint64) Checkpoint {
	if n == 0 {
		return Checkpoint{Offset: int64(headerSize)}
	}
	return h.Checkpoints[n/h.Every-1]
}

// A Range is a part of two histories that has their first difference.
type Range struct {
	Equal uint64     // how many items before the range are equal
	Until uint64     // how many items there are up to the end of the range; the count of the longer history if no checkpoint ends it
	A, B  Checkpoint // after Equal items
	// Bound is the instant of the end of the range, or a later one; Infinity if no checkpoint ends it.
	Bound metasim.Instant
}

// FirstDifference returns the range of the first difference of two histories. It returns false if they are equal.
func FirstDifference(a, b *History) (r Range, differ bool) {
	if a.Count == b.Count && a.Hash == b.Hash {
		return Range{}, false
	}
	every := max(a.Every, b.Every)
	equal, until := uint64(0), min(a.Count, b.Count)/every+1 // in units of every: the last that may be equal, the first that is not
	for until-equal > 1 {
		mid := equal + (until-equal)/2
		if a.after(mid*every).Hash == b.after(mid*every).Hash {
			equal = mid
		} else {
			until = mid
		}
	}
	r = Range{Equal: equal * every, Until: until * every}
	r.A, r.B = a.after(r.Equal), b.after(r.Equal)
	if r.Until <= min(a.Count, b.Count) {
		r.Bound = metasim.Earlier(a.after(r.Until).At, b.after(r.Until).At)
	} else {
		r.Until, r.Bound = max(a.Count, b.Count), metasim.Infinity
	}
	return r, true
}

// Before returns the last checkpoint at or before item n, counted from 0: the number of the item in its record, and the offset of
// the record.
func (h *History) Before(n uint64) (number uint64, offset int64) {
	known := min((n+1)/h.Every, uint64(len(h.Checkpoints))) * h.Every
	if known == 0 {
		return 0, int64(headerSize)
	}
	return known - 1, h.after(known).Offset
}

// The hash of a history must be the same on every machine and in every run, and cheap enough to be computed for every message: 64
// bits, by folded multiplication, which multiplies 64 by 64 bits and mixes both halves (as wyhash and the fallback of aHash do). It
// takes about five cycles for eight bytes. It does not protect against forgeries: the digest of the run does.

const (
	seedHash = 0x243f6a8885a308d3 // the fraction of pi
	foldBy   = 0x9e3779b97f4a7c15 // 2^64 / the golden ratio, odd
)

// fold mixes a word into a hash.
func fold(h, word uint64) uint64 {
	hi, lo := bits.Mul64(h^word, foldBy)
	return hi ^ lo
}

func foldInstant(h uint64, i metasim.Instant) uint64 {
	return fold(fold(h, uint64(i.Time)), uint64(i.Step))
}

// foldBytes mixes bytes and their number into a hash: little-endian words, the last one padded with zeros.
func foldBytes[T string | []byte](h uint64, b T) uint64 {
	h = fold(h, uint64(len(b)))
	return foldWords(h, []byte(b))
}

// foldWords mixes words into a hash. It mixes many words in four lanes, because each fold waits for the one before.
func foldWords(h uint64, b []byte) uint64 {
	if len(b) >= 64 {
		h1, h2, h3 := h+foldBy, h-foldBy, h^foldBy
		for len(b) >= 32 {
			h = fold(h, binary.LittleEndian.Uint64(b))
			h1 = fold(h1, binary.LittleEndian.Uint64(b[8:]))
			h2 = fold(h2, binary.LittleEndian.Uint64(b[16:]))
			h3 = fold(h3, binary.LittleEndian.Uint64(b[24:]))
			b = b[32:]
		}
		h = fold(fold(fold(h, h1), h2), h3)
	}
	for len(b) >= 8 {
		h = fold(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) == 0 {
		return h
	}
	var word uint64
	for i, c := range b {
		word |= uint64(c) << (8 * i)
	}
	return fold(h, word)
}

// hashSend hashes a send: instant, channel, payload.
func hashSend(sent metasim.Instant, channel string, payload []byte) uint64 {
	return foldBytes(foldBytes(foldInstant(seedHash, sent), channel), payload)
}

// hashDelivery hashes what the digest of a run has of a delivery: when it is due, the hash of the sender's name, and the hash of its
// send.
func hashDelivery(due metasim.Instant, from, send uint64) uint64 {
	return fold(fold(foldInstant(seedHash, due), from), send)
}

// hashLeave hashes a leave.
func hashLeave(now metasim.Instant, acked uint64, result []byte) uint64 {
	return foldBytes(fold(foldInstant(^uint64(seedHash), now), acked), result)
}

// Hash returns what the history of outputs has of a Send or a Leave, and 0 for other events. A leave of a client that was cut off is
// not an output of that client: 0 too.
func Hash(ev metasim.Event) uint64 {
	switch ev := ev.(type) {
	case *metasim.Send:
		return hashSend(ev.Sent, ev.Channel, ev.Payload)
	case *metasim.Leave:
		if !ev.Cut {
			return hashLeave(ev.Now, ev.Acked, ev.Result)
		}
	}
	return 0
}

// HashDelivery returns what the history of inputs has of a delivery: when it is due, the name of its sender, and the Hash of its
// Send.
func HashDelivery(due metasim.Instant, from string, send uint64) uint64 {
	return hashDelivery(due, foldBytes(seedHash, from), send)
}
