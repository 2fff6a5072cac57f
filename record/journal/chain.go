package journal

import "metasim/metasim"

// A Chain is the history of one client in one direction, hash by hash: after n of its items it has a value that two runs
// share only if they share the items. Some of the values are kept, so that where two runs part is found without reading
// either.
type Chain struct {
	Count uint64          // items
	Hash  uint64          // after all of them
	At    metasim.Instant // of the last one: when a message was sent, or is due
	// Every is how many items lie between two checkpoints: a power of two times firstEvery.
	Every       uint64
	Checkpoints []Checkpoint // the one at i is after (i+1)*Every items
}

// A Checkpoint is a chain after some of its items.
type Checkpoint struct {
	Hash   uint64
	At     metasim.Instant // of the last of the items
	Offset int64           // in the journal, of the record that has the last of the items
}

// A chain begins with a checkpoint every firstEvery items; when it has maxCheckpoints it forgets every other one. So an
// index is bounded whatever the length of a run, and of two runs the coarser one says where both have checkpoints.
const (
	firstEvery     = 16
	maxCheckpoints = 512
)

// add adds an item.
func (c *Chain) add(item uint64, at metasim.Instant, offset int64) {
	c.Count++
	c.Hash, c.At = fold(c.Hash, item), at
	if c.Count&(c.Every-1) != 0 {
		return
	}
	c.Checkpoints = append(c.Checkpoints, Checkpoint{Hash: c.Hash, At: at, Offset: offset})
	if len(c.Checkpoints) < maxCheckpoints {
		return
	}
	kept := c.Checkpoints[:0]
	for i := 1; i < maxCheckpoints; i += 2 {
		kept = append(kept, c.Checkpoints[i])
	}
	c.Checkpoints, c.Every = kept, 2*c.Every
}

// after returns the checkpoint after n items, which is a multiple of Every: the zero Checkpoint after none.
func (c *Chain) after(n uint64) Checkpoint {
	if n == 0 {
		return Checkpoint{Offset: int64(headerSize)}
	}
	return c.Checkpoints[n/c.Every-1]
}

// A Parting is where two chains part, as far as their checkpoints tell.
type Parting struct {
	Equal uint64     // so many items are equal
	Until uint64     // the first difference comes before so many; the count of the longer chain if no checkpoint tells
	A, B  Checkpoint // after Equal items
	// Bound is at or after the first difference; Infinity if no checkpoint tells.
	Bound metasim.Instant
}

// Part compares two chains. It returns false if they are equal.
func Part(a, b *Chain) (p Parting, parted bool) {
	if a.Count == b.Count && a.Hash == b.Hash {
		return Parting{}, false
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
	p = Parting{Equal: equal * every, Until: until * every}
	p.A, p.B = a.after(p.Equal), b.after(p.Equal)
	if p.Until <= min(a.Count, b.Count) {
		p.Bound = metasim.Earlier(a.after(p.Until).At, b.after(p.Until).At)
	} else {
		p.Until, p.Bound = max(a.Count, b.Count), metasim.Infinity
	}
	return p, true
}

// Before returns the last checkpoint at or before item n, counted from 0: the number of the item that its record has,
// and where that record is.
func (c *Chain) Before(n uint64) (number uint64, offset int64) {
	known := min((n+1)/c.Every, uint64(len(c.Checkpoints))) * c.Every
	if known == 0 {
		return 0, int64(headerSize)
	}
	return known - 1, c.after(known).Offset
}
