package journal

import (
	"sort"

	"metasim/internal/foldhash"
	"metasim/metasim"
)

// A History is a rolling hash of what one client received, or of what it sent. After n items two runs have the same hash only if
// they have the same items. Some of the hashes are kept, so that the place where two runs begin to differ is found without reading
// their journals. Hashes kept by count suit a client that is always equally busy; those kept by instant suit one that is busy at times.
type History struct {
	Count uint64          // items
	Hash  uint64          // after all of them
	At    metasim.Instant // of the last one: when a message was sent, or is due
	// Every is how many items lie between two checkpoints: a power of two.
	Every       uint64
	Checkpoints []Checkpoint // the one at i is after (i+1)*Every items
	// Shift says how long the spans of simulated time are: 2^Shift nanoseconds.
	Shift uint8
	Marks []Mark // after the first item of each span that has one

	limit int // there are always fewer checkpoints than this, and fewer marks: a power of two
}

// A Checkpoint is a History after some of its items.
type Checkpoint struct {
	Hash   uint64
	At     metasim.Instant // of the last of the items
	Offset int64           // in the journal, of the record that has the last of the items
}

// A Mark is a Checkpoint that says after how many items it is.
type Mark struct {
	Count uint64
	Checkpoint
}

// A history has a checkpoint after every item at first. When it has too many checkpoints, it drops every other one. When it has too many
// marks, it doubles the length of the spans. So an index is small however long a run is. If one of two histories keeps fewer hashes, the
// other one has all of them too. All histories of an index together keep about maxKept hashes at most.
const (
	minCheckpoints = 32
	maxCheckpoints = 512
	maxKept        = 1 << 19
)

// newHistory returns a history of one of so many clients.
func newHistory(clients int) History {
	limit := maxCheckpoints
	for limit > minCheckpoints && 4*limit*clients > maxKept {
		limit /= 2
	}
	return History{Hash: foldhash.Seed, Every: 1, limit: limit}
}

// add adds an item.
func (h *History) add(item uint64, at metasim.Instant, offset int64) {
	h.Count++
	h.Hash, h.At = foldhash.Word(h.Hash, item), at
	if n := len(h.Marks); n == 0 || h.Marks[n-1].At.Time>>h.Shift != at.Time>>h.Shift {
		h.Marks = append(h.Marks, Mark{h.Count, Checkpoint{Hash: h.Hash, At: at, Offset: offset}})
		for len(h.Marks) >= h.limit {
			h.Shift++
			h.Marks = thin(h.Marks[:0], h.Marks, h.Shift)
		}
	}
	if h.Count&(h.Every-1) != 0 {
		return
	}
	h.Checkpoints = append(h.Checkpoints, Checkpoint{Hash: h.Hash, At: at, Offset: offset})
	if len(h.Checkpoints) < h.limit {
		return
	}
	kept := h.Checkpoints[:0]
	for i := 1; i < h.limit; i += 2 {
		kept = append(kept, h.Checkpoints[i])
	}
	h.Checkpoints, h.Every = kept, 2*h.Every
}

// thin appends the first mark of each span of 2^shift nanoseconds.
func thin(kept, marks []Mark, shift uint8) []Mark {
	for _, m := range marks {
		if n := len(kept); n == 0 || kept[n-1].At.Time>>shift != m.At.Time>>shift {
			kept = append(kept, m)
		}
	}
	return kept
}

// cut returns the history of the first end.Count items. end has the hash and the instant after them.
func (h *History) cut(end History) History {
	marks := sort.Search(len(h.Marks), func(i int) bool { return h.Marks[i].Count > end.Count })
	end.Every, end.Checkpoints = h.Every, h.Checkpoints[:end.Count/h.Every]
	end.Shift, end.Marks = h.Shift, h.Marks[:marks]
	return end
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
	Equal uint64 // how many items before the range are equal
	Until uint64 // how many items there are up to the end of the range; at most one more than the shorter history has
	// From is the instant of the last item before the range. Bound is that of its end, or a later one: Infinity if it is not known.
	From, Bound metasim.Instant
}

// FirstDifference returns the range of the first difference of two histories. It returns false if they are equal.
func FirstDifference(a, b *History) (r Range, differ bool) {
	if a.Count == b.Count && a.Hash == b.Hash {
		return Range{}, false
	}
	every, shorter := max(a.Every, b.Every), min(a.Count, b.Count)
	i := uint64(sort.Search(int(shorter/every), func(i int) bool { // the checkpoints before i are equal
		n := uint64(i+1) * every
		return a.after(n).Hash != b.after(n).Hash
	}))
	r = Range{Equal: i * every, Until: (i + 1) * every, From: a.after(i * every).At, Bound: metasim.Infinity}
	if r.Until <= shorter {
		r.Bound = metasim.Earlier(a.after(r.Until).At, b.after(r.Until).At)
	}
	r.Until = min(r.Until, shorter+1)
	r.narrow(a, b)
	return r, true
}

// narrow narrows a range by the marks. A mark that differs in the two histories lies after the first difference.
func (r *Range) narrow(a, b *History) {
	shift := max(a.Shift, b.Shift)
	x, y := thin(nil, a.Marks, shift), thin(nil, b.Marks, shift)
	i := sort.Search(min(len(x), len(y)), func(i int) bool { return x[i].Count != y[i].Count || x[i].Hash != y[i].Hash })
	if i > 0 && x[i-1].Count > r.Equal {
		r.Equal, r.From = x[i-1].Count, x[i-1].At
	}
	for _, marks := range [][]Mark{x, y} {
		if i < len(marks) {
			r.Until, r.Bound = min(r.Until, marks[i].Count), metasim.Earlier(r.Bound, marks[i].At)
		}
	}
}

// Before returns the last item at or before item n whose place is kept: its number, counted from 0, and the offset of its record. If no
// place is kept, it returns number 0 and the first record.
func (h *History) Before(n uint64) (number uint64, offset int64) {
	offset = int64(headerSize)
	if known := min((n+1)/h.Every, uint64(len(h.Checkpoints))) * h.Every; known > 0 {
		number, offset = known-1, h.after(known).Offset
	}
	i := sort.Search(len(h.Marks), func(i int) bool { return h.Marks[i].Count > n+1 })
	if i > 0 && h.Marks[i-1].Count > number+1 {
		number, offset = h.Marks[i-1].Count-1, h.Marks[i-1].Offset
	}
	return number, offset
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
	return foldhash.Bytes(foldhash.Word(foldInstant(^uint64(foldhash.Seed), now), acked), CanonicalResult(result))
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
