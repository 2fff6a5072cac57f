package journal

import (
	"metasim/internal/foldhash"
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
	h.Hash, h.At = foldhash.Word(h.Hash, item), at
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

// foldInstant mixes an instant into a hash.
func foldInstant(h uint64, i metasim.Instant) uint64 {
	return foldhash.Word(foldhash.Word(h, uint64(i.Time)), uint64(i.Step))
}

// hashDelivery hashes what the digest of a run has of a delivery: when it is due, the hash of the sender's name, and the hash of its
// send.
func hashDelivery(due metasim.Instant, from, send uint64) uint64 {
	return foldhash.Word(foldhash.Word(foldInstant(foldhash.Seed, due), from), send)
}

// hashLeave hashes a leave.
func hashLeave(now metasim.Instant, acked uint64, result []byte) uint64 {
	return foldhash.Bytes(foldhash.Word(foldInstant(^uint64(foldhash.Seed), now), acked), result)
}

// Hash returns what the history of outputs has of a Send or a Leave, and 0 for other events. A leave of a client that was cut off is
// not an output of that client: 0 too.
func Hash(ev metasim.Event) uint64 {
	switch ev := ev.(type) {
	case *metasim.Send:
		return metasim.HashSend(ev.Sent, ev.Channel, ev.Payload)
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
	return hashDelivery(due, foldhash.Bytes(foldhash.Seed, from), send)
}
